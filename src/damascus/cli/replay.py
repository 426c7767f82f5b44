"""damascus replay: the write pipeline once more over what a story's agents wrote."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from damascus.cli.opened import opened_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, table
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.writes.replay import Replayed


def replay(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    first: Annotated[int, typer.Option("--from", metavar="N", min=1, help="Begin with this write.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check every logged write of a story again, with today's rules. Exit code 1 when one is judged differently.

    \b
    Example:  damascus replay S-21 --from 5
    """
    from damascus.domain.scope import Scope
    from damascus.scanning.scanner import Scanner
    from damascus.store import views
    from damascus.writes.bounds import Bounds
    from damascus.writes.replay import replay as replayed

    db, project = opened_for(story)
    row = views.whole_row(db, project.row, views.story_row(db, project.row, story).story_id)
    name = row["story_id"]
    bounds = Bounds(
        Scope(tuple(row["file_scope"])), "", protected=(row["spec_path"],) if row["spec_path"] else (),
        test_patterns=tuple(project.config.test.patterns),
    )  # fmt: skip
    scanner = Scanner.quick()  # the one that judged them
    try:
        found = list(replayed(_runs(project.runs / name), bounds, scanner, first))
    finally:
        scanner.close()
    differ = [each for each in found if each.differs]
    if as_json:
        print_json({"story_id": name, "writes": [_published(each) for each in found], "differ": len(differ)})
    elif not found:
        raise DamascusError(f"{name} has no logged write from number {first} on. See: damascus show {name}")
    else:
        _say(found, len(differ), name)
    return 1 if differ else 0


def _runs(folder: Path) -> list[Path]:
    """The runs' folders with a log, in order."""
    numbers = {path: re.fullmatch(r"run-(\d+)", path.name) for path in folder.glob("run-*")}
    runs = sorted((int(match.group(1)), path) for path, match in numbers.items() if match)
    return [path for _, path in runs]


def _say(found: "list[Replayed]", differ: int, name: str) -> None:
    from damascus.cli.words import plural

    rows = [
        (str(r.number), str(r.entry.origin.run), r.entry.origin.role, r.entry.tool, r.entry.path, r.then, _now(r))
        for r in found
    ]
    for line in table(("n", "run", "role", "tool", "file", "then", "now"), rows, shrink=(4, 6), lead=0):
        say(line)
    said = f"{plural(differ, 'write')} judged differently" if differ else "every verdict is the same"
    say(f"{plural(len(found), 'write')}: {said}.")
    next_step(f"damascus show {name}")


def _now(each: "Replayed") -> str:
    return each.now or f"– ({each.note})"


def _published(each: "Replayed") -> dict[str, Any]:
    entry = each.entry.model_dump()
    return {"number": each.number, "then": each.then, "now": each.now or None, "differs": each.differs,
            "note": each.note, "entry": entry}  # fmt: skip
