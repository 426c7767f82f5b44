"""A settings file with some of its keys as another version has them: JSON (with comments), TOML and INI.

What is written is read by tools, never by people and never committed, so its looks don't matter; that it says exactly
this does, and it is read again to see that.
"""

import configparser
import copy
import fnmatch
import io
import json
import re
import tomllib
from collections.abc import Callable, Sequence
from datetime import date, time
from typing import Any

Table = dict[str, Any]
LARGEST = 1_000_000
MOST_PARTS = 100
"""Of a key in TOML: Python's reader needs the square of the time."""
TOML_STRINGS = re.compile(
    "|".join(
        (
            r'"{3}(?:[^\\]|\\.)*?(?:"{3,5}|\\?\Z)',
            r"'{3}.*?(?:'{3,5}|\Z)",
            r'"(?:[^"\\\n]|\\.)*"?',
            r"'[^'\n]*'?",
            r"#[^\n]*",
        )
    ),
    re.DOTALL,
)
"""And comments: what is no key in any case."""
TOML_KEYS = re.compile(r"[\w.\- \t]+")
STRING = r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)'
JSON_PIECES = re.compile(rf"{STRING}|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""What is not closed reaches to the end, so that no text is gone through again and again."""
LAST_COMMA = re.compile(rf"({STRING})|,(?=\s*[}}\]])", re.DOTALL)


class UnreadableSettings(Exception):
    """Nobody can tell its parts apart."""


def with_parts_of(name: str, other: bytes | None, text: bytes, keys: Sequence[str]) -> bytes | None:
    """`text` with these keys as `other` has them; None where they are the same already."""
    read, write = FORMS[name.rpartition(".")[2]]
    if len(text) > LARGEST:
        raise UnreadableSettings(name)
    try:
        now, then = read(text), read(other or b"")
        wanted = _merged(now, then, keys)
        if wanted == now:
            return None
        made = write(wanted).encode()
        again = read(made)
    except (ValueError, TypeError, RecursionError, configparser.Error) as err:
        raise UnreadableSettings(name) from err
    if again != wanted:
        raise UnreadableSettings(name)
    return made


# ── keys, as `tool.ruff`, the last of them with `*` for any ───────────────────────────────────────────


def _merged(now: Table, then: Table, keys: Sequence[str]) -> Table:
    made = copy.deepcopy(now)
    for key in keys:
        *above, last = key.split(".")
        inside = _below(made, above)
        for found in fnmatch.filter(inside, last):
            del inside[found]
        wanted = _below(then, above)
        for found in fnmatch.filter(wanted, last):
            _made_below(made, above)[found] = wanted[found]
    return made


def _below(table: Table, above: Sequence[str]) -> Table:
    for key in above:
        found = table.get(key)
        table = found if isinstance(found, dict) else {}
    return table


def _made_below(table: Table, above: Sequence[str]) -> Table:
    for key in above:
        if not isinstance(table.get(key), dict):
            table[key] = {}
        table = table[key]
    return table


# ── forms ─────────────────────────────────────────────────────────────────────────────────────────────


def _read_json(data: bytes) -> Table:
    """With comments and last commas, as TypeScript's settings have them."""
    text = data.decode("utf-8-sig")
    plain = JSON_PIECES.sub(lambda found: found[0] if found[0].startswith('"') else " ", text)
    read = json.loads(LAST_COMMA.sub(lambda found: found[1] or "", plain) or "{}")
    if not isinstance(read, dict):
        raise ValueError("no object")
    return read


def _read_toml(data: bytes) -> Table:
    text = data.decode("utf-8")
    keys = TOML_KEYS.findall(TOML_STRINGS.sub("s", text))
    if max((key.count(".") for key in keys), default=0) >= MOST_PARTS:
        raise ValueError("a key of too many parts")
    return tomllib.loads(text)


def _write_toml(table: Table) -> str:
    return "".join(f"{_toml(key)} = {_toml(value)}\n" for key, value in table.items())


def _toml(value: object) -> str:
    match value:
        case str():
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return str(value).lower()
        case dict():
            return "{" + ", ".join(f"{_toml(key)} = {_toml(each)}" for key, each in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_toml, value)) + "]"
        case date() | time():
            return value.isoformat()
        case _:
            return repr(value)


def _read_ini(data: bytes) -> Table:
    """What [DEFAULT] says is said in each section: there it can be told whose it is."""
    reader = _ini()
    reader.read_string(data.decode("utf-8"))
    return {section: dict(reader[section]) for section in reader.sections()}


def _write_ini(table: Table) -> str:
    writer, text = _ini(), io.StringIO()
    writer.read_dict(table)
    writer.write(text)
    return text.getvalue()


def _ini() -> configparser.RawConfigParser:
    made = configparser.RawConfigParser(strict=False)
    made.optionxform = str  # type: ignore[assignment,method-assign]
    return made


FORMS: dict[str, tuple[Callable[[bytes], Table], Callable[[Table], str]]] = {
    "json": (_read_json, json.dumps),
    "toml": (_read_toml, _write_toml),
    "cfg": (_read_ini, _write_ini),
    "ini": (_read_ini, _write_ini),
}
