"""An idea becomes a story of kind `plan`: a planner makes a task graph of it, which a person accepts (docs/plan.md)."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.domain.file_text import decode
from damascus.domain.spec import parse_spec
from damascus.domain.visible import visible
from damascus.people.acts import Done
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.queueing import NewStory
from damascus.telling.phrases import one_line

LARGEST = 100_000
LONGEST_TITLE = 100
NUMBERED = re.compile(r"PLAN-(\d{1,6})", re.IGNORECASE)
TEXT = """\
---
story: {story}
title: {title}
kind: plan
scope:
  - {graph}
  - plans/{story}/
---

# The idea

{idea}

## TDD Plan

No code is written here. The task graph is checked as `damascus tasks check` does, and a person approves it.

## Test Command

```sh
true
```
"""


@dataclass(frozen=True)
class Planned(Done):
    """The story that makes the plan, and the file that it writes."""

    story: str
    title: str
    graph: str


def plan(db: Database, project: Project, idea: str) -> Planned:
    """Queued like every story; what it plans is queued by nobody but the person."""
    text, graph = _read(idea), project.config.tasks.graph
    title = _title(text)
    name = f"PLAN-{_next_number(db, project)}"
    quoted = "\n".join(f"> {line}".rstrip() for line in text.split("\n"))
    written = {
        "story": name,
        "title": json.dumps(title, ensure_ascii=False),
        "graph": json.dumps(graph),
        "idea": quoted,
    }
    raw = TEXT.format(**written).encode()
    spec = parse_spec(raw, name)
    config = project.config
    story = NewStory(spec, raw, f"specs/{name}.md", file=idea)
    queueing.add(db, project.row, [story], config.project.branch_prefix, config.limits.budget_cycles)
    said = (
        f"{name}  {title}: queued. A planner writes {graph}, a critic reads it; nothing is built before you approve it."
    )
    return Planned(said, f"damascus run, then damascus diff {name} && damascus approve {name}", name, title, graph)


def _read(name: str) -> str:
    path = Path(name)
    try:
        if not path.exists():
            raise UsageError(f"{name} does not exist. Write the idea into a file: damascus plan IDEA.md")
        if not path.is_file():
            raise UsageError(f"{name} is no plain file. Write the idea into a file: damascus plan IDEA.md")
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except (OSError, ValueError) as err:
        raise UsageError(
            f"{name} can't be read: {getattr(err, 'strerror', None) or err}. Nothing was queued."
        ) from None
    if len(raw) > LARGEST:
        raise UsageError(f"{name} is larger than {LARGEST:,} bytes: say the idea in fewer words. Nothing was queued.")
    text = decode(raw, name).strip()
    if not visible(text):
        raise UsageError(f"{name} says nothing. Write down what is wanted. Nothing was queued.")
    return text


def _title(text: str) -> str:
    """Its first line that says something, without marks of a heading."""
    lines = (one_line(line.lstrip("#> *-")) for line in text.split("\n"))
    first = next((line for line in lines if visible(line)), "an idea")
    return first if len(first) <= LONGEST_TITLE else first[: LONGEST_TITLE - 1].rstrip() + "…"


def _next_number(db: Database, project: Project) -> int:
    names = [str(row["story_id"]) for row in db.all("story_names", project=project.row.id)]
    return max((int(found[1]) for name in names if (found := NUMBERED.fullmatch(name))), default=0) + 1
