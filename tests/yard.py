"""A yard for stories: a repository with a main branch, a queue in a database of its own, agents and workers.

yard = Yard(tmp_path, database_url)
yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"], command="python -m pytest -q tests/test_m1.py"))
yard.work(agent)                       # in this process, until nothing can move without a person
assert yard.item("S-1")["phase"] == "done"
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from damascus.assembly import Choice, make_worker
from damascus.domain.ports import Agent
from damascus.engine.maintenance import Housekeeping
from damascus.engine.tools import Tools, nothing
from damascus.engine.worker import Worker
from damascus.lab.ground import CONFIG, NO_PYTEST_CACHE, PERSON, START, Playground, python, story
from damascus.toolset import make_tools

__all__ = ["CONFIG", "HONEST", "NO_PYTEST_CACHE", "PERSON", "START", "Yard", "python", "story"]


class Yard(Playground):
    """The lab's ground, with what tests look at and agents that are no commands."""

    def subjects(self) -> list[str]:
        return self.git("log", "--format=%s", "main").splitlines()

    def item(self, name: str) -> dict[str, Any]:
        rows = self.query("SELECT * FROM work_items WHERE story_id = %s", name)
        assert rows, f"no story {name}"
        return rows[0]

    def query(self, text: str, *params: Any) -> list[dict[str, Any]]:
        return self.db.run(lambda c: c.execute(text.encode(), params or None).fetchall())

    def questions(self) -> list[str]:
        return [row["question"] for row in self.query("SELECT question FROM human_issues WHERE closed_at IS NULL")]

    def events(self, name: str, kind: str | None = None) -> list[dict[str, Any]]:
        rows = self.query(
            "SELECT e.kind, e.body, e.id FROM events_outbox e JOIN work_items i ON i.id = e.item_id "
            "WHERE i.story_id = %s ORDER BY e.id", name,
        )  # fmt: skip
        return [row for row in rows if kind is None or row["kind"] == kind]

    def worker(
        self, agent: Agent | str, *, slots: int = 2, boundary: Callable[[str, str], None] | None = None, **pace: Any
    ) -> Worker:
        """A worker of this process. `agent` is an Agent, or the words of a command agent."""
        if isinstance(agent, str):
            return super().worker(agent, slots=slots, boundary=boundary, **pace)
        choice = Choice(slots=slots, agent="command", agent_command="true")
        worker = make_worker(self.app, self.app.project(self.repo), choice, boundary)
        worker.tools = replace(worker.tools, agent=agent)
        everyone = [worker.tools, *worker.others.values()]
        worker.housekeeping = Housekeeping(everyone, worker.id, worker.pace.lease)  # it asks the agent, too
        worker.pace = replace(worker.pace, poll=0.05, **pace)
        return worker

    def tools(self, agent: Agent | None = None) -> Tools:
        return make_tools(self.app, self.project, agent, lambda: False, nothing)


HONEST = """
name = brief["file_scope"][0].removesuffix(".py")
pathlib.Path("tests").mkdir(exist_ok=True)
pathlib.Path(f"{name}.py").write_text("def value():\\n    return 42\\n")
pathlib.Path(f"tests/test_{name}.py").write_text(
    f"from {name} import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n")
"""
"""The body of an agent that does what the spec of `story()` asks, tests included."""
