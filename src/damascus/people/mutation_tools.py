"""Which tools make mutants of lines here (docs/mutation.md), and the command that installs one."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from damascus.app import Project
from damascus.domain.check import Check
from damascus.stacks import detect
from damascus.stacks.mutants.lines import MutationTool

BESIDE = (".venv/bin", "venv/bin", "node_modules/.bin")
"""Where set-up puts them, in the project's folder as in a checkout."""


def examine(project: Project) -> Iterator[Check]:
    """Nothing to say where no mutant of a line is wanted."""
    if project.config.gates.mutation != "full":
        return
    for stack in detect(list(_names(project.repository.top))):
        tool = stack.mutation_tool() if stack.mutation_tool else None
        if tool is None:
            yield Check("mutation", "warn", f"no tool is known for {stack.name}: depth full is UNVERIFIED there")
        elif found := where(tool, project.repository.top):
            yield Check("mutation", "ok", f"{tool.name} makes the mutants of {stack.name}: {found}")
        else:
            instead = "operators of ours look instead" if stack.line_mutants else "depth full is UNVERIFIED there"
            said = f"{tool.name} is not there for {stack.name}: {instead}. Install it: {tool.install}"
            yield Check("mutation", "warn", said)


def where(tool: MutationTool, top: Path) -> str | None:
    own = [str(top / folder) for folder in BESIDE] + [str(Path(sys.prefix) / "bin")]
    return next((found for path in (*own, None) if (found := shutil.which(tool.program, path=path))), None)


def _names(top: Path) -> Iterator[str]:
    """What stands at the top, as the stacks are known by."""
    yield from (entry.name for entry in top.iterdir())
