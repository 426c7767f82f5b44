"""Flags that more than one verb has."""

from typing import Annotated

import typer

UntilIdle = Annotated[bool, typer.Option("--until-idle", help="Stop when nothing can move without a person.")]
Slots = Annotated[int | None, typer.Option("--slots", min=1, max=64, help="How many stories to work on at once.")]
LogJson = Annotated[bool, typer.Option("--log-json", help="Print the log's lines to stderr as well.")]
AgentKind = Annotated[
    str | None,
    typer.Option("--agent", metavar="KIND", help="claude (the default), codex, opencode, command or scripted."),
]
AgentCommand = Annotated[
    str | None, typer.Option("--agent-command", metavar="CMD", help="The agent's command, or its script.")
]
