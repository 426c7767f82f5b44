"""The mark by which a comment of ours is found again: it stands at the end, where no page shows it.

Only marks at the very end count. Whatever stands before them may quote others, an agent's among them.
"""

import re
from urllib.parse import quote

ONE = re.compile(r"<!-- damascus:(?P<key>[^\s>]+) -->")
AT_END = re.compile(r"\s*(?:<!-- damascus:[^\s>]+ -->\s*)+\Z")


def marked(text: str, *keys: str) -> str:
    return "\n\n".join([text.rstrip(), "\n".join(f"<!-- damascus:{quote(key, safe='')} -->" for key in keys)])


def is_marked(body: str, key: str) -> bool:
    return quote(key, safe="") in keys_of(body)


def keys_of(body: str) -> list[str]:
    """As they stand there: quoted."""
    found = AT_END.search(body)
    return ONE.findall(found[0]) if found else []


def without_marks(body: str) -> str:
    return AT_END.sub("", body)
