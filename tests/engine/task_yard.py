"""A yard whose stories are tasks of a graph, and what the projector writes beside it."""

from pathlib import Path
from typing import Any

from damascus.engine.maintenance.projector import Projector
from damascus.store.stream import publish
from damascus.tasks.statuses import statuses_in
from tests.engine.shell_stories import FILES, config, shell_story
from tests.yard import Yard

GRAPH = "TASK-GRAPH.md"


def graph_text(*names: str) -> str:
    """The person's own words stand around each task, in their own way."""
    tasks = [f"### {name}: The task {name}\n**Status:** PENDING\n\nmy  words on {name}\t\n" for name in names]
    return "# My application\r\n\n" + "\n".join(tasks) + "\nlast words, no end of line"


def task_yard(folder: Path, url: str, *names: str, more: str = "", graph: str | None = None) -> Yard:
    files = {**FILES, GRAPH: graph_text(*names) if graph is None else graph}
    yard = Yard(folder, url, files=files, config=_settings(more))
    yard.add(*(task(name) for name in names))
    return yard


def _settings(more: str) -> str:
    """TOML has a table once, and the yard's own has one as well."""
    return config(more.replace("[tasks]\n", "[tasks]\nblocked_in_a_row = 1000\n")).replace(
        "[tasks]\nblocked_in_a_row = 1000\n", "", 1 if "[tasks]" in more else 0
    )


def task(name: str, **parts: Any) -> str:
    return shell_story(name, graph=GRAPH, task_type="feature", **parts)


def project(yard: Yard, projector: Projector | None = None) -> list[str]:
    publish(yard.db)
    return (projector or Projector(yard.tools())).look()


def statuses(yard: Yard) -> dict[str, str]:
    return statuses_in((yard.repo / GRAPH).read_bytes())


def neutral(raw: bytes) -> bytes:
    """The graph without what is ours: the values of Status lines, and Checkpoint lines."""
    lines = [line for line in raw.split(b"\n") if not line.startswith(b"**Checkpoint:**")]
    return b"\n".join(b"**Status:**" if line.startswith(b"**Status:**") else line for line in lines)
