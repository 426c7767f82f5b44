"""What a story was given before its build (F2), from the base commit: `<inputs>/<story>/signal/…` and `plan/…`.

Whichever files exist are read, all others are listed as absent. A story's spec alone is enough.
"""

import hashlib
import re
from dataclasses import dataclass

from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.scope import Scope
from damascus.domain.spec import without_fenced_headings
from damascus.engine.agent_step.context import scoped
from damascus.git.mirror import Mirror

KNOWN = (
    "signal/requirements.md",
    "signal/requirements_critique.md",
    "plan/impact_map.json",
    "plan/adr.md",
    "plan/api_contracts.yaml",
    "plan/schema.md",
    "plan/observability_spec.md",
    "plan/test_plan.md",
    "plan/work_plan.md",
)
FEATURES = "signal/features"
WORK_PLAN = "plan/work_plan.md"
LARGEST = 1_000_000
MOST_SUBTASKS = 50
HEADING = re.compile(r"^##[ \t]+(\S[^\n]*)$", re.MULTILINE)
ITEM = re.compile(r"^(?:\d{1,3}[.)]|[-*][ \t]+\[[ xX]\])[ \t]+(\S[^\n]*)$", re.MULTILINE)


@dataclass(frozen=True)
class Input:
    """One file of a story's signal or plan. `text` None: larger than anybody reads, or no UTF-8."""

    name: str
    path: str
    sha256: str
    text: str | None


@dataclass(frozen=True)
class Subtask:
    """One part of the work plan."""

    number: int
    title: str
    text: str = ""


ONCE = "1"
"""The key of a step that is taken once for the whole story."""
WHOLE = Subtask(1, "the whole story")
"""Where there is no work plan."""


@dataclass(frozen=True)
class Inputs:
    """What was there, what not, and the parts of the work."""

    found: tuple[Input, ...] = ()
    absent: tuple[str, ...] = ()
    subtasks: tuple[Subtask, ...] = (WHOLE,)

    @property
    def sections(self) -> list[HandoffSection]:
        return [HandoffSection(Priority.SPECS, each.name, each.text, quoted=True) for each in self.found if each.text]


def read_inputs(mirror: Mirror, base: Sha, root: str) -> Inputs:
    features = [path for path, _ in scoped(mirror, base, Scope((f"{root}/{FEATURES}/",))) if path.endswith(".feature")]
    names = [*KNOWN, *(path.removeprefix(f"{root}/") for path in sorted(features))]
    read = {name: mirror.read(base, f"{root}/{name}") for name in names}
    found = tuple(_input(name, f"{root}/{name}", data) for name, data in read.items() if data is not None)
    absent = [name for name, data in read.items() if data is None]
    absent += [] if features else [f"{FEATURES}/*.feature"]
    plan = next((each.text for each in found if each.name == WORK_PLAN), None)
    return Inputs(found, tuple(absent), subtasks(plan or ""))


def _input(name: str, path: str, data: bytes) -> Input:
    try:
        text = data.decode("utf-8").replace("\x00", "") if len(data) <= LARGEST else None
    except UnicodeDecodeError:
        text = None
    return Input(name, path, hashlib.sha256(data).hexdigest(), text)


def subtasks(plan: str) -> tuple[Subtask, ...]:
    """Each `## heading` of the work plan with what stands below it; without one, each item of its numbered list or
    list of boxes; else it is all one."""
    hidden = without_fenced_headings(plan)
    marks = list(HEADING.finditer(hidden)) or list(ITEM.finditer(hidden))
    ends = [*(mark.start() for mark in marks[1:]), len(plan)][: len(marks)]
    parts = [(mark[1].strip(), plan[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True)]
    cut = [*parts[: MOST_SUBTASKS - 1], _rest(parts[MOST_SUBTASKS - 1 :])] if len(parts) > MOST_SUBTASKS else parts
    return tuple(Subtask(n, title, text) for n, (title, text) in enumerate(cut, start=1)) or (WHOLE,)


def _rest(parts: list[tuple[str, str]]) -> tuple[str, str]:
    return "all that is left of the plan", "\n\n".join(f"{title}\n{text}".strip() for title, text in parts)
