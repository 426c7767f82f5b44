"""An agent's own names of its files, and ours: translated before anybody looks at them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.agents.seating import SeatedWrites
from damascus.domain.ports import WriteDecision
from damascus.system.sandbox import Level, seats_at


class Noted:
    """A pipeline that notes what it is told and answers with a path of ours."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.told = workspace, list[object]()

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        self.told.append(given.get("file_path") or given.get("notebook_path"))
        reason = f"Write only below {self.workspace}."
        return WriteDecision(allowed=False, reason=reason, replaced={**given, "content": "by a person"})

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        self.told.append(given.get("file_path"))
        return f"{self.workspace}/a.py does not compile"


@pytest.mark.req("A10")
def test_paths_of_tool_calls_are_ours_before_they_are_judged(tmp_path: Path) -> None:
    noted = Noted(tmp_path)
    writes = SeatedWrites(noted, seats_at(Level.BUBBLEWRAP, tmp_path))
    given = {"file_path": "/mnt/checkout/a.py", "content": "x"}
    decision = writes.propose("Write", given)
    assert decision.reason == "Write only below /mnt/checkout."
    assert decision.replaced == {"file_path": "/mnt/checkout/a.py", "content": "by a person"}
    assert writes.applied("Write", given) == "/mnt/checkout/a.py does not compile"
    writes.propose("NotebookEdit", {"notebook_path": "/mnt/checkout/n.ipynb"})
    for told in ("a.py", "/etc/passwd", "/mnt/checkout/../home/x", str(tmp_path / "b.py")):
        writes.propose("Write", {"file_path": told})
    assert noted.told == [
        f"{tmp_path}/a.py", f"{tmp_path}/a.py", f"{tmp_path}/n.ipynb",
        "a.py", "/etc/passwd", "/mnt/checkout/../home/x", str(tmp_path / "b.py"),
    ]  # fmt: skip
