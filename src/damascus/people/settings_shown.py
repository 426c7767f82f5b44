"""What holds in a project: each key of damascus.toml with its value, whence it is, and by which commit.

Names of variables are shown, never their values: a key that holds a secret does not exist (docs/config.md), and what
looks like one in an address or a command is masked.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from damascus.app import App, Project
from damascus.domain.config import Config, variable
from damascus.domain.config_section import Section
from damascus.domain.described import Described
from damascus.domain.ids import SHA_PATTERN
from damascus.domain.scope import SETTINGS_FILE
from damascus.settings import Settings, glance
from damascus.system.masking import own_keys, without_secrets
from damascus.telling.phrases import plain

LONGEST = 500
HEADING = re.compile(r"^\s*\[\s*([A-Za-z0-9_.\"' -]{1,200}?)\s*\]\s*(?:#.*)?$")
KEY = re.compile(r"^\s*([A-Za-z0-9_.\"'-]{1,200}?)\s*=")


class Source(Described):
    """Whence a value is."""

    DEFAULT = "default", "nobody wrote it down"
    FILE = "damascus.toml", "main's file says so"
    VARIABLE = "variable", "a variable of the environment wins over the file"


@dataclass(frozen=True)
class SettingShown:
    """One key. `commit` wrote its line into the file; "" where it is not from there, or not committed."""

    key: str
    value: str
    default: str
    source: Source
    means: str
    variable: str | None
    commit: str = ""

    @property
    def overridden(self) -> bool:
        return self.value != self.default


@dataclass(frozen=True)
class SettingsShown:
    """Table by table. `on_main` is whether the file is on main yet; `commit` is main's, where it was read."""

    tables: tuple[tuple[str, tuple[SettingShown, ...]], ...]
    name: str
    on_main: bool
    commit: str


def settings_shown(app: App, project: Project) -> SettingsShown:
    settings = glance(project.here, app.home, app.environ)[0] if project.here is not None else project.settings
    tip, lines = _blamed(project, settings)
    hidden = [*own_keys(), *(app.environ[name] for name in settings.config.workspace.env if app.environ.get(name))]
    commits = {key: lines[n] for key, n in places(settings.text).items() if n < len(lines)}
    reading = _Reading(app.environ, commits, hidden)
    written, config = tomllib.loads(settings.text), settings.config
    tables = [
        (name, tuple(reading.table(name, getattr(config, name), written.get(name)))) for name in Config.model_fields
    ]
    return SettingsShown(tuple(tables), settings.name, settings.on_main, tip)


@dataclass(frozen=True)
class _Reading:
    """What every key is looked up in."""

    environ: Mapping[str, str]
    commits: Mapping[str, str]
    hidden: list[str]

    def table(self, section: str, table: BaseModel, written: Any) -> Iterator[SettingShown]:
        said = written if isinstance(written, dict) else {}
        for name, info in type(table).model_fields.items():
            key, value = info.alias or name, getattr(table, name)
            if isinstance(value, Section):
                yield from self.table(f"{section}.{key}", value, said.get(key))
            else:
                yield self.setting(f"{section}.{key}", value, info, written=key in said)

    def setting(self, whole: str, value: Any, info: FieldInfo, *, written: bool) -> SettingShown:
        section, _, key = whole.rpartition(".")
        named = variable(section, key)
        source = Source.VARIABLE if named and self.environ.get(named) else Source.FILE if written else Source.DEFAULT
        return SettingShown(
            whole,
            without_secrets(in_toml(value), self.hidden),
            in_toml(info.get_default(call_default_factory=True)),
            source,
            plain(info.description or ""),
            named,
            self.commits.get(whole, "") if source is Source.FILE else "",
        )


def in_toml(value: Any) -> str:
    """As the file would say it, on one line."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{plain(value)}"'[:LONGEST]
        case list() | tuple():
            return f"[{', '.join(in_toml(one) for one in value)}]"[:LONGEST]
        case dict():
            return (
                f"{{ {', '.join(f'{plain(k)} = {in_toml(v)}' for k, v in value.items())} }}"[:LONGEST]
                if value
                else "{}"
            )
        case BaseModel():
            return in_toml(value.model_dump())
    return plain(value)


# ── by which commit ───────────────────────────────────────────────────────────────────────────────────


def places(text: str) -> dict[str, int]:
    """On which line each key begins, counted from 0: `limits.slots` → 12."""
    found: dict[str, int] = {}
    table = ""
    for n, line in enumerate(text.splitlines()):
        if heading := HEADING.match(line):
            table = _bare(heading.group(1))
            found.setdefault(table, n)  # a key that holds a table
        elif key := KEY.match(line):
            dotted = f"{table}.{_bare(key.group(1))}" if table else _bare(key.group(1))
            found.setdefault(dotted, n)
    return found


def _bare(name: str) -> str:
    return name.replace('"', "").replace("'", "").replace(" ", "")


def _blamed(project: Project, settings: Settings) -> tuple[str, list[str]]:
    """Main's tip, and for each line of its file the commit that wrote it; nothing where the file is not on main."""
    if project.here is None or not settings.on_main:
        return "", []
    git = project.here.git
    tip = str(project.here.tip(settings.main))
    told = git.run("blame", "-l", "-s", "--root", tip, "--", SETTINGS_FILE, check=False)
    if told.code != 0:
        return tip, []
    found = [line.split(" ", 1)[0].lstrip("^") for line in told.text.splitlines()]
    return tip, [sha if SHA_PATTERN.fullmatch(sha) else "" for sha in found]
