"""Imported stories as a task graph (docs/task-graph.md): those that are whole, and whose dependencies are."""

import re
from collections.abc import Sequence

from damascus.domain.ids import StoryId
from damascus.domain.tasks import ContractKind, TestContract, contract_table
from damascus.tasks.importers.record import line
from damascus.tasks.importers.story_specs import Drafted, source_of

NO_ID = re.compile(r"[^A-Z0-9]+")
KINDS = (
    (re.compile(r"(^|[/_.-])e2e([/_.-]|$)"), ContractKind.E2E),
    (re.compile(r"(^|[/_.-])(integration|contract)s?([/_.-]|$)"), ContractKind.INTEGRATION),
)


def in_graph(drafts: Sequence[Drafted]) -> list[Drafted]:
    """Without those that lack something, and without whoever waits for one of them."""
    kept = {one.story: one for one in drafts if not one.lacks and one.one.spec is None}
    while True:
        lost = [story for story, one in kept.items() if any(need not in kept for need in one.depends_on)]
        if not lost:
            return list(kept.values())
        for story in lost:
            del kept[story]


def graph_text(drafts: Sequence[Drafted]) -> str:
    tasks = in_graph(drafts)
    names = {one.story: task_id(one.story) for one in tasks}
    return "# Task graph\n\n" + "\n".join(_task(one, names) for one in tasks)


def task_id(story: StoryId) -> str:
    return f"TASK-{NO_ID.sub('-', story.upper()).strip('-')}"


def _task(one: Drafted, names: dict[StoryId, str]) -> str:
    needs = ", ".join(names[each] for each in one.depends_on) or "none"
    contracts = [
        TestContract(f"TC-{n}", line(text).replace("|", "¦"), _kind(one.tests[0]), one.tests[0])
        for n, text in enumerate(one.one.criteria, 1)
    ]
    files = "".join(f"- {path}\n" for path in one.scope)
    return (
        f"### {names[one.story]}: {line(one.one.title, 200)}\n\n"
        f"<!-- {source_of(one.kind, one.one).replace('--', '- -')} -->\n"
        f"**Status:** PENDING\n**Task type:** feature\n**depends_on:** {needs}\n**can_parallel:** false\n"
        f"**output_files:**\n{files}\n**Test contract status:** REQUIRED\n**Test contract:**\n\n"
        f"{contract_table(contracts)}"
    )


def _kind(path: str) -> ContractKind:
    """By the test file's own folder or name."""
    return next((kind for pattern, kind in KINDS if pattern.search(path.lower())), ContractKind.UNIT)
