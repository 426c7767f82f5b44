"""/mcp: the tools over streamable HTTP, for whoever has a token. Imported when first asked for (extras.py)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from damascus.mcp.caller import BY, Context, ToolCaller
from damascus.mcp.server import make_server
from damascus.people.acts import Actor
from damascus.web.callers import caller_of
from damascus.web.refusals import refusal
from damascus.web.site_state import SiteState

PATH = "/mcp"
LARGEST = 2 * 2**20
NO_TOKEN = "Tools are for programs: send a token (damascus token new --scope read) as Authorization: Bearer."


class Entrance:
    """A browser's cookie is not enough: a page of another site could not be told from an agent."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = caller_of(scope)
        if caller is None or caller.csrf:
            await refusal(PATH, 401, NO_TOKEN)(scope, receive, send)
            return
        await self.app(scope, receive, send)


@asynccontextmanager
async def running(state: SiteState) -> AsyncIterator[ASGIApp]:
    server = make_server(state.app, state.project, caller_in)
    server.streamable_http_app(
        stateless_http=True, json_response=True, max_request_body_size=LARGEST,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),  # the guard is in front
    )  # fmt: skip
    async with server.session_manager.run():
        yield Entrance(server.session_manager.asgi_app)


def caller_in(ctx: Context) -> ToolCaller:
    """Whose token came with the request that calls a tool."""
    request = ctx.request_context.request
    caller = caller_of(request.scope) if request is not None else None
    assert caller is not None, "the guard is in front of every call"
    return ToolCaller(Actor(caller.who.name, BY), caller.may == "act", caller.where)
