"""An agent's desk: a workspace, the write pipeline around it, and its tools as they really write."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.domain.config import WritesConfig
from damascus.domain.ports import WriteDecision
from damascus.domain.scope import Scope
from damascus.scanning.scanner import Scanner
from damascus.writes import log, proposal
from damascus.writes.bounds import Bounds
from damascus.writes.checks import Checks
from damascus.writes.compile_check import Compiler
from damascus.writes.log import Origin, WriteEntry, WriteLog
from damascus.writes.person import WritePerson
from damascus.writes.pipeline import Pipeline

NOTEBOOK = {"cells": [{"cell_type": "code", "id": "one", "metadata": {}, "source": "x = 1\n", "outputs": []}]}


@dataclass
class Desk:
    """`call` is what an agent's client does: ask, run the tool, tell."""

    workspace: Path
    run_folder: Path
    pipeline: Pipeline

    @classmethod
    def of(
        cls,
        folder: Path,
        scanner: Scanner,
        *,
        role: str = "code-implementer",
        accepted: tuple[str, ...] = (),
        gate: str = "policy",
        person: WritePerson | None = None,
        **settings: Any,
    ) -> "Desk":
        workspace, runs = folder / "workspace", folder / "run-1"
        workspace.mkdir(parents=True, exist_ok=True)
        bounds = Bounds(Scope(("src/", "tests/")), role, frozenset(accepted), protected=("specs/S-1.md",))
        origin = Origin(story="S-1", run=1, attempt=1, step="implement", role=role)
        pipeline = Pipeline(
            workspace,
            origin,
            Checks(bounds, scanner),
            WriteLog(runs),
            WritesConfig(gate=gate, **settings),
            person,
            Compiler(workspace, scanner, folder / "cache"),
            folder / "artifacts",
        )
        return cls(workspace, runs, pipeline)

    def put(self, path: str, content: str | bytes) -> None:
        place = self.workspace / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content.encode() if isinstance(content, str) else content)

    def text(self, path: str) -> str:
        return (self.workspace / path).read_text()

    def call(self, tool: str, **given: Any) -> tuple[WriteDecision, str]:
        """A file may be named relative to the workspace."""
        for key in ("file_path", "notebook_path"):
            if key in given:
                given[key] = str(self.workspace / given[key])
        decision = self.pipeline.propose(tool, given)
        if not decision.allowed:
            return decision, ""
        given = dict(decision.replaced or given)
        if tool != "Bash":
            done = proposal.proposed(self.workspace, tool, given)
            self.put(done.path, done.after)
        return decision, self.pipeline.applied(tool, given)

    def write(self, path: str, content: str) -> tuple[WriteDecision, str]:
        return self.call("Write", file_path=path, content=content)

    def log(self) -> list[WriteEntry]:
        return log.read(self.run_folder)

    def kept(self) -> str:
        """Everything that lies in the run's folder, as text."""
        return "".join(file.read_text("latin-1") for file in self.run_folder.rglob("*") if file.is_file())


def notebook(source: str) -> str:
    return json.dumps({"cells": [{**NOTEBOOK["cells"][0], "source": source}]}, indent=1)
