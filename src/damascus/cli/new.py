"""damascus new: a spec to edit, from one sentence."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say
from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.store.db import Database

FOLDER = "specs"
NUMBERED = re.compile(r"(?P<prefix>.*?)(?P<number>\d+)")
MARK = "FILL IN"
TEXT = """\
---
story: {story}
title: {title}
scope:
  # {mark}: the files that it may write, tests included.
  - {scope}
---

{sentence}

## Requirements

<!-- {mark}: one line for each thing that must be true afterwards. A test names its id. -->
- REQ-001: {sentence}

## TDD Plan

<!-- {mark}: which test shows which requirement. -->
One test per requirement in {tests}, red before the code exists.

## Test Command

```sh
{command}
```
"""

ROUGH = """\
---
story: {story}
title: {title}
---

{sentence}
"""


def new(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What is wanted, in one sentence.")],
    story: Annotated[str, typer.Option("--id", metavar="STORY", help="Its id. Default: the next free one.")] = "",
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Default: specs/ID.md.")] = "",
    rough: Annotated[
        bool, typer.Option("--rough", help="Leave the rest to the agent; you approve what it wrote in the inbox.")
    ] = False,
) -> None:
    """Write a spec to edit: id, title, Test Command and test folder are filled, what is yours to say is marked.

    With --rough it has your sentence alone: requirements, scope and plan are written by the agent's refiner once the
    story is run, and nothing is built before you have approved them.

    \b
    Example:  damascus new "slugify keeps digits"
              damascus new "slugify keeps digits" --rough
              damascus new "CSV import" --id S-21 --out specs/S-21.md
    """
    wanted = " ".join(sentence.split())
    if not wanted:
        raise UsageError('what is wanted? Write it like: damascus new "slugify keeps digits"')
    db, project = opened()
    name = story or _next_id(db, project)
    file = Path(out) if out else project.repository.top / FOLDER / f"{name}.md"
    _write(file, _rough_text(name, wanted) if rough else _text(project, name, wanted), name)
    shown = file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file
    if rough:
        say(f"{shown}: written. The refiner fills in the rest, and asks you before anything is built.")
        next_step(f"damascus add --rough {shown}")
    else:
        say(f"{shown}: written. What is yours to say is marked {MARK}.")
        next_step(f"edit it, then damascus add {shown}")


def _write(file: Path, text: str, name: str) -> None:
    """Never over a file that is there."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as opened_file:
            opened_file.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists, so nothing was written. Name another with --id or --out.") from None
    except OSError as err:
        raise UsageError(f"{file} can't be written: {err.strerror or err}. Name another with --out.") from None


def _next_id(db: "Database", project: "Project") -> str:
    """One above the highest of the last used kind, in the queue and among the specs; the first is S-1."""
    names = [str(row["story_id"]) for row in db.all("story_names", project=project.row.id)]
    names += [path.stem for path in sorted((project.repository.top / FOLDER).glob("*.md"))]
    found = [match for name in names if (match := NUMBERED.fullmatch(name))]
    prefix = found[-1]["prefix"] if found else "S-"
    return f"{prefix}{max((int(match['number']) for match in found if match['prefix'] == prefix), default=0) + 1}"


def _rough_text(name: str, sentence: str) -> str:
    import json

    from damascus.domain.spec import parse_spec

    text = ROUGH.format(story=name, title=json.dumps(sentence, ensure_ascii=False), sentence=sentence)
    parse_spec(text.encode(), "the new spec", rough=True)
    return text


def _text(project: "Project", name: str, sentence: str) -> str:
    """Valid as it stands for `damascus add`, so that a mistake of ours is seen here."""
    import json

    from damascus import stacks
    from damascus.domain.spec import parse_spec

    main = project.row.main_branch
    files = project.repository.git.out("ls-tree", "-r", "-z", "--name-only", f"refs/heads/{main}").split("\0")
    tests = _test_folder(files)
    command = project.config.test.command if project.config.test.command not in ("", "none") else ""
    command = command or stacks.default_command(files) or "make test"
    title = json.dumps(sentence, ensure_ascii=False)
    text = TEXT.format(
        story=name, title=title, sentence=sentence, scope=tests, tests=tests, command=command, mark=MARK
    )  # fmt: skip
    parse_spec(text.encode(), "the new spec")
    return text


def _test_folder(files: list[str]) -> str:
    """Where the project's tests are, by what is there; `tests/` if there are none yet."""
    from collections import Counter

    from damascus.stacks import is_test

    folders = Counter(path.partition("/")[0] + "/" for path in files if "/" in path and is_test(path, ()))
    return folders.most_common(1)[0][0] if folders else "tests/"
