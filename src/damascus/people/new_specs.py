"""A spec to edit, from one sentence."""

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from damascus import stacks
from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.domain.spec import parse_spec
from damascus.people.acts import Done
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

MARKED = re.compile(rf"\s*(?:#|<!--) {MARK}:".encode())

ROUGH = """\
---
story: {story}
title: {title}
---

{sentence}
"""


@dataclass(frozen=True)
class NewSpec(Done):
    """The story's id, the file that was written, and what is in it."""

    story: str
    file: Path
    text: str


def marks(spec: bytes) -> list[str]:
    """The numbers of the lines where `new` left something to say."""
    return [str(n) for n, line in enumerate(spec.splitlines(), 1) if MARKED.match(line)]


def wanted(sentence: str) -> str:
    """The sentence on one line, or a refusal where there is none."""
    words = " ".join(sentence.split())
    if not words:
        raise UsageError('what is wanted? Write it like: damascus new "slugify keeps digits"')
    return words


def write(
    db: Database, project: Project, sentence: str, *, here: Path, story: str = "", out: str = "", rough: bool = False
) -> NewSpec:
    """`here` is the folder that the person is in: the file is named as it is seen from there. Without an id it is the
    next free one, without `out` the file lies in specs/."""
    text = wanted(sentence)
    name = story or _next_id(db, project)
    file = Path(out) if out else project.repository.top / FOLDER / f"{name}.md"
    spec = _rough_text(name, text) if rough else _text(project, name, text)
    _write(file, spec)
    shown = file.relative_to(here) if file.is_relative_to(here) else file
    said, following = f"{shown}: written. What is yours to say is marked {MARK}.", f"edit it, then damascus add {shown}"
    if rough:
        said = f"{shown}: written. The refiner fills in the rest, and asks you before anything is built."
        following = f"damascus add --rough {shown}"
    return NewSpec(said, following, name, file, spec)


def _write(file: Path, text: str) -> None:
    """Never over a file that is there."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("x", encoding="utf-8") as written:
            written.write(text)
    except FileExistsError:
        raise UsageError(f"{file} exists, so nothing was written. Name another with --id or --out.") from None
    except OSError as err:
        raise UsageError(f"{file} can't be written: {err.strerror or err}. Name another with --out.") from None


def _next_id(db: Database, project: Project) -> str:
    """One above the highest of the last used kind, in the queue and among the specs; the first is S-1."""
    names = [str(row["story_id"]) for row in db.all("story_names", project=project.row.id)]
    names += [path.stem for path in sorted((project.repository.top / FOLDER).glob("*.md"))]
    found = [match for name in names if (match := NUMBERED.fullmatch(name))]
    prefix = found[-1]["prefix"] if found else "S-"
    return f"{prefix}{max((int(match['number']) for match in found if match['prefix'] == prefix), default=0) + 1}"


def _rough_text(name: str, sentence: str) -> str:
    text = ROUGH.format(story=name, title=json.dumps(sentence, ensure_ascii=False), sentence=sentence)
    parse_spec(text.encode(), "the new spec", rough=True)
    return text


def _text(project: Project, name: str, sentence: str) -> str:
    """Valid as it stands for `damascus add`, so that a mistake of ours is seen here."""
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
    folders = Counter(path.partition("/")[0] + "/" for path in files if "/" in path and stacks.is_test(path, ()))
    return folders.most_common(1)[0][0] if folders else "tests/"
