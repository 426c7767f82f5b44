"""The spec by which a STALE story is built anew (A3): what a person wrote, the change, and what is to be derived again.

With a new spec, scope, TDD plan and tests are that one's. With a reason alone they are left out, so that the refiner
derives them from the change, and stay as they were where there is no refiner; story, title, requirements and test
contract stay. The old tests that the change concerns
are named in `may_change`: a person has seen them.
"""

import re
from collections.abc import Sequence

from damascus.domain.file_text import decode
from damascus.domain.front_matter import edited, split
from damascus.domain.inert_markdown import seen
from damascus.domain.spec import parse_spec, section, without_fenced_headings

DERIVED = ("TDD Plan", "Test Command")
HEADING = "Change"
LONGEST = 4000


def rederived(raw: bytes, why: str, tests: Sequence[str], *, new: bool, refined: bool = True) -> bytes:
    """`new`: the text is what a person wants now, and only the old tests are named in it. `refined`: a refiner derives
    anew what is left out."""
    name = "the spec"
    spec = parse_spec(raw, name, rough=True)
    may = tuple(dict.fromkeys((*spec.may_change, *tests)))
    text = decode(raw, name)
    lists = {"may_change": may} if may else {}
    if new:
        return edited(text, name, lists=lists).encode() if may != spec.may_change else raw
    kept = edited(text, name, without=("scope",) if refined else (), lists=lists)
    body = split(kept, name)[1]
    head = kept.removesuffix(body)
    for heading in DERIVED if refined else ():
        body = without_section(body, heading)
    return (head + with_change(body, why)).encode()


def with_change(body: str, why: str) -> str:
    """One section has every change, the newest last, each as somebody's words: no line of it is a heading or fence."""
    before = section(body, HEADING)
    told = "\n".join(f"> {line}" for line in (seen(one) for one in why[:LONGEST].splitlines()) if line)
    kept = without_section(body, HEADING).rstrip("\n")
    return f"{kept}\n\n## {HEADING}\n" + (f"{before}\n\n" if before else "") + f"{told}\n"


def without_section(body: str, heading: str) -> str:
    """Up to the next heading of its level or above, as `section` reads it."""
    words = r"[ \t]+".join(re.escape(word) for word in heading.split())
    begins = re.compile(rf"##[ \t]+{words}[ \t]*", re.IGNORECASE)
    kept, inside = [], False
    for line, seen_as in zip(body.split("\n"), without_fenced_headings(body).split("\n"), strict=True):
        if re.match(r"##?[ \t]+\S", seen_as):
            inside = begins.fullmatch(seen_as) is not None
        if not inside:
            kept.append(line)
    return "\n".join(kept)
