"""damascus mcp: this project as tools for an agent, over stdin and stdout."""

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.domain.errors import DamascusError
from damascus.people.acts import Actor

MISSING = (
    "MCP needs a package that is not installed. Install it, then try again: "
    "pip install 'damascus-orchestrator[mcp]'"
)


def mcp(
    read_only: Annotated[bool, typer.Option("--read-only", help="No tool can act.")] = False,
) -> None:
    """Serve this project to an agent as tools: list, look, why, add, answer, retry, cancel. No tool can declare a story
    done. It talks MCP over stdin and stdout, so an agent's program starts it (docs/mcp.md).

    \b
    Example:  damascus mcp --read-only
    In Claude Code:  claude mcp add damascus -- damascus -C /path/to/your/repository mcp
    """
    if find_spec("mcp") is None:
        raise DamascusError(MISSING)
    server = import_module("damascus.mcp.server")
    app = open_app()
    project = open_project(app)
    server.serve_stdio(app, project, Actor(person_in(project).name, "mcp"), read_only=read_only)
