"""The pictures of ARCHITECTURE.md, as mermaid: the rooms from their imports, the data from the schema.

    tools/pictures            both pictures
    tools/pictures --write    into ARCHITECTURE.md, between their markers

Needs the standard library only.
"""

import argparse
import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "damascus"
SCHEMA = SOURCE / "store" / "schema.sql"
PAGE = ROOT / "ARCHITECTURE.md"
TABLE = re.compile(r"^CREATE (?:UNLOGGED )?TABLE public\.(\w+) \((.*?)^\)", re.MULTILINE | re.DOTALL)
KEY = re.compile(
    r"ALTER TABLE ONLY public\.(\w+)\s+ADD CONSTRAINT \w+ FOREIGN KEY \(([\w, ]+)\) REFERENCES public\.(\w+)"
)
NAMED = {"item_id": "work_items", "project_id": "projects", "repo_id": "repos", "worker_id": "workers"}
"""What a column means where no foreign key says it."""


# ── the rooms ─────────────────────────────────────────────────────────────────────────────────────────


def layers() -> list[list[str]]:
    """From top to bottom, as pyproject's contract has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [arrows] = [each for each in contracts if each["type"] == "layers"]
    return [re.findall(r"damascus\.(\w+)", layer) for layer in arrows["layers"]]


def imports() -> dict[str, set[str]]:
    """Which room uses which below it, by every import of every file."""
    found: dict[str, set[str]] = {room: set() for layer in layers() for room in layer}
    beside = {room: set(layer) for layer in layers() for room in layer}
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if room in found:
            found[room] |= {other for other in used_by(path) if other in found} - beside[room]
    return found


def used_by(path: Path) -> set[str]:
    used: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("damascus"):
            parts = node.module.split(".")
            used |= {parts[1]} if len(parts) > 1 else {name.name for name in node.names}
        elif isinstance(node, ast.Import):
            used |= {parts[1] for name in node.names if (parts := name.name.split("."))[0] == "damascus" and parts[1:]}
    return used


def below(room: str, arrows: dict[str, set[str]], seen: set[str]) -> set[str]:
    for other in arrows[room] - seen:
        seen.add(other)
        below(other, arrows, seen)
    return seen


def needed_arrows() -> list[tuple[str, str]]:
    """Without those that a longer way tells already: whoever uses a room may use what it stands on."""
    arrows = imports()
    needed = []
    for room, others in arrows.items():
        for other in sorted(others):
            longer = set().union(*(below(between, arrows, {between}) for between in others - {other}), set())
            if other not in longer:
                needed.append((room, other))
    return needed


def rooms() -> str:
    lines = ["flowchart TD"]
    for number, layer in enumerate(layers()):
        boxes = "; ".join(f"{room}[{room}]" for room in layer)
        lines.append(
            f"  subgraph layer{number}[ ]\n    direction LR; {boxes}\n  end" if len(layer) > 1 else f"  {boxes}"
        )
    lines += [f"  {room} --> {other}" for room, other in needed_arrows()]
    return "\n".join(lines)


# ── the data ──────────────────────────────────────────────────────────────────────────────────────────


def tables() -> dict[str, list[str]]:
    """Every table with its columns."""
    found = {}
    for name, body in TABLE.findall(SCHEMA.read_text()):
        words = [line.split()[0] for line in body.splitlines() if line.strip()]
        found[name] = [word for word in words if word not in ("CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK")]
    return found


def relations() -> list[tuple[str, str, str, bool]]:
    """Table, column, the table that it points to, and whether a foreign key holds it."""
    keys = [(table, columns, other, True) for table, columns, other in KEY.findall(SCHEMA.read_text())]
    held = {(table, column) for table, columns, _, _ in keys for column in columns.split(", ")}
    meant = [
        (table, column, NAMED[column], False)
        for table, columns in tables().items()
        for column in columns
        if column in NAMED and (table, column) not in held and NAMED[column] != table
    ]
    return sorted({*keys, *meant}, key=lambda each: (each[2], each[0], each[1]))


def data() -> str:
    lines = ["erDiagram"]
    told = relations()
    lines += [f'  {other} ||{"--" if key else ".."}o{{ {table} : "{column}"' for table, column, other, key in told]
    alone = [name for name in tables() if not any(name in (table, other) for table, _, other, _ in told)]
    return "\n".join([*lines, *(f"  {name}" for name in sorted(alone))])


# ── the page ──────────────────────────────────────────────────────────────────────────────────────────


def drawn(page: str) -> str:
    for name, picture in (("rooms", rooms()), ("data", data())):
        begin, end = f"<!-- {name}: drawn by tools/pictures --write -->", f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise SystemExit(f"ARCHITECTURE.md has no place for the picture: {begin} … {end}")
        page = f"{before}{begin}\n```mermaid\n{picture}\n```\n{end}{after}"
    return page


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/pictures", description="The pictures of ARCHITECTURE.md.")
    parser.add_argument("--write", action="store_true", help="into ARCHITECTURE.md")
    if parser.parse_args().write:
        PAGE.write_text(drawn(PAGE.read_text()))
    print(f"{rooms()}\n\n{data()}")


if __name__ == "__main__":
    main()
