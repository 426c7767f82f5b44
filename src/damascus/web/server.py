"""The site on a socket of its own, in a thread beside whoever started it."""

import errno
import socket
import threading

import uvicorn
from fastapi import FastAPI

from damascus.domain.errors import DamascusError
from damascus.web.options import Options
from damascus.web.site_state import SiteState

GRACE = 2
"""Seconds that open requests have when the window ends."""

MOST_AT_ONCE = 1000
"""Connections; more are told to come later."""


class Serving:
    """`start()` listens at once or says why it can't; `stop()` ends it and waits for it."""

    def __init__(self, site: FastAPI, options: Options) -> None:
        self.options = options
        self._state: SiteState = site.state.window
        self.sessions = self._state.sessions
        self.hub = self._state.hub
        self._server = uvicorn.Server(_config(site))
        self._thread: threading.Thread | None = None
        self.url = ""

    def start(self) -> str:
        """The address; it answers from now on."""
        listening = _bound(self.options.listen, self.options.port)
        host, port = listening.getsockname()[:2]
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="window", daemon=True)
        self._thread.start()
        return self.url

    def one_time_link(self, to: str = "") -> str:
        return f"{self.url}/enter/{self.sessions.link()}{f'?to={to}' if to else ''}"

    def stop(self) -> None:
        self._state.ending()
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(GRACE + 3)


def _config(site: FastAPI) -> uvicorn.Config:
    """Nothing that a request says of where it comes from is believed (proxy_headers)."""
    return uvicorn.Config(
        site,
        ws="none",
        loop="asyncio",
        http="h11",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_AT_ONCE,
        timeout_graceful_shutdown=GRACE,
    )


def _bound(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle's wait on
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address, port))
        listening.listen(128)
    except OSError as err:
        listening.close()
        raise DamascusError(_why(err, address, port)) from None
    return listening


def _why(err: OSError, address: str, port: int) -> str:
    if err.errno == errno.EADDRINUSE:
        return f"port {port} is taken by another program, perhaps a window of yours. Take a free one: --port 0"
    if err.errno == errno.EACCES:
        return f"port {port} is not for everybody to take. Name one above 1023: --port 8420"
    return f"{address} port {port} can't be listened on: {err.strerror or err}. Name an address of this machine."
