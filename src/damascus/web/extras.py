"""Parts whose packages may not be installed, each at a path of its own. Loaded when first asked for: most windows never
are, and nobody waits for what they do not use."""

import asyncio
from importlib import import_module
from importlib.util import find_spec

from anyio.to_thread import run_sync
from starlette.types import ASGIApp, Receive, Scope, Send

from damascus.web.site_state import SiteState


class Extra:
    """The module has `running(state)`: a context in which the app that answers is there."""

    def __init__(self, module: str, state: SiteState) -> None:
        self.module = module
        self.state = state
        self._wanted = asyncio.Event()
        self._ready = asyncio.Event()
        self._app: ASGIApp | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        await self._ready.wait()
        assert self._app is not None
        await self._app(scope, receive, send)

    async def run(self) -> None:
        """As long as the site does, in one task of its own."""
        await self._wanted.wait()
        module = await run_sync(import_module, self.module)
        async with module.running(self.state) as self._app:
            self._ready.set()
            await asyncio.Event().wait()


def installed(package: str) -> bool:
    """A folder of that name somewhere on the path is no package."""
    found = find_spec(package)
    return found is not None and found.origin is not None
