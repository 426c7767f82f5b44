"""Whose agent calls, and what it may do: at stdio the person who started it, over HTTP whoever has the token."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mcp.server.mcpserver import Context as SdkContext

from damascus.people.acts import Actor

BY = "mcp"
Context = SdkContext[Any, Any]


@dataclass(frozen=True)
class ToolCaller:
    """`where` is the address that the request came from."""

    who: Actor
    may_act: bool
    where: str = BY


Calling = Callable[[Context], ToolCaller]
