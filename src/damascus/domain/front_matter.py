"""The front matter of a spec: YAML between two lines of dashes, read strictly. No other file here knows YAML."""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import yaml

from damascus.domain.errors import UsageError

LARGEST_FRONT = 64_000
ONE_LINE = re.compile(r"\s*(?:-\s+)?([A-Za-z_]+):\s+(\S.*?)\s*")
KEY_LINE = re.compile(r"([A-Za-z_]+):(?:\s|$)")
SPECIAL = "!&*%@`|>{[]},?"
"""YAML gives a value that begins with one of these a meaning of its own."""


def split(text: str, name: str) -> tuple[dict[str, Any], str]:
    front_text, body = _front_and_body(text)
    if front_text is None:
        raise UsageError(
            f"{name} has no front matter. Start it with a line '---', then story, title and scope, "
            "then '---' (docs/spec.md)."
        )
    try:
        loader = yaml.SafeLoader(front_text)
        node = loader.get_single_node()
        _refuse_keytwice(node, name)
        _refuse_unreadable_value(loader, node)
        front = (loader.construct_document(node) if node is not None else None) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise UsageError(_not_yaml(err, front_text, name)) from None
    if not isinstance(front, dict):
        raise UsageError(f"{name}: the front matter must be 'key: value' lines (docs/spec.md).")
    return {str(key): value for key, value in front.items()}, body


class _Unreadable(ValueError):
    """A value of the front matter that YAML takes for something that it is not (a date, a number), with its line."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.line = line


def _refuse_unreadable_value(loader: Any, front: Any) -> None:
    pairs = front.value if getattr(front, "id", "") == "mapping" else []
    for _, value in pairs:
        try:
            loader.construct_object(value, deep=True)
        except ValueError as err:
            raise _Unreadable(str(err), value.start_mark.line) from None


def _not_yaml(err: Exception, front: str, name: str) -> str:
    """Where it is, what YAML says, and for the usual slip what to do."""
    mark = getattr(err, "problem_mark", None) or getattr(err, "context_mark", None)
    at = getattr(err, "line", None) if mark is None else mark.line
    said = getattr(err, "problem", None) or str(err).splitlines()[0]
    lines = front.split("\n")
    text = lines[at] if at is not None and at < len(lines) else ""
    where = f"{name}, line {at + 2}" if at is not None else name
    return f"{where}: the front matter is not valid YAML: {said}. {_quote_it(text)}(docs/spec.md)"


def _quote_it(line: str) -> str:
    found = ONE_LINE.fullmatch(line)
    if found is None or found[2][0] in "\"'[{":
        return ""
    value = found[2].replace("\\", "\\\\").replace('"', '\\"')
    if ": " in value or value.endswith(":") or value[0] in SPECIAL or value[:1].isdigit():
        return f'Put it in quotes: {found[1]}: "{value}" '
    return ""


def _front_and_body(text: str) -> tuple[str | None, str]:
    """What stands between the first two lines of dashes, and what comes behind."""
    if not text.startswith("---\n"):
        return None, ""
    at = text.find("\n---", 3)
    while at >= 0:
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end
        if not text[at + 4 : end].strip():
            return (text[4:at] if at <= LARGEST_FRONT else None), text[end + 1 :]
        at = text.find("\n---", end) if at <= LARGEST_FRONT else -1
    return None, ""


def _refuse_keytwice(front: Any, name: str) -> None:
    """YAML lets the last one win, silently."""
    pairs = front.value if getattr(front, "id", "") == "mapping" else []
    twice = repeated([str(key.value) for key, _ in pairs])
    if twice is not None:
        raise UsageError(f"{name} has the key {twice!r} twice. Keep one of them (docs/spec.md).")


def repeated(names: list[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


# ── edited ────────────────────────────────────────────────────────────────────────────────────────────


def edited(
    text: str, name: str, *, without: Collection[str] = (), lists: Mapping[str, Sequence[str]] | None = None
) -> str:
    """The same text with keys left out and lists set. A person's own lines stay as they are wherever what comes out can
    be read as what was meant; else the front matter is written anew."""
    front, body = split(text, name)
    lists = lists or {}
    gone = {*without, *lists}
    meant = {key: value for key, value in front.items() if key not in gone} | {
        key: [*these] for key, these in lists.items()
    }
    own, _ = _front_and_body(text)
    lines = _without_lines(own or "", gone)
    added = "".join(_dumped({key: [*these]}) for key, these in lists.items())
    for candidate in ("\n".join([*lines, added.rstrip("\n")] if added else lines), _dumped(meant).rstrip("\n")):
        whole = f"---\n{candidate}\n---\n{body}"
        if _reads_as(whole, name, (meant, body)):
            return whole
    raise UsageError(
        f"{name}: its front matter can't be changed. Write it with one 'key: value' a line (docs/spec.md)."
    )


def _without_lines(front: str, gone: Collection[str]) -> list[str]:
    """The lines that belong to none of these keys; a key's lines go on until the next key begins."""
    kept, inside = [], False
    for line in front.split("\n"):
        begins = KEY_LINE.match(line)
        inside = begins[1] in gone if begins else inside
        if not inside:
            kept.append(line)
    return kept


def _dumped(values: Mapping[str, Any]) -> str:
    return str(yaml.safe_dump(dict(values), allow_unicode=True, sort_keys=False, width=100_000))


def _reads_as(text: str, name: str, meant: tuple[dict[str, Any], str]) -> bool:
    try:
        return split(text, name) == meant
    except UsageError:
        return False
