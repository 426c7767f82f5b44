"""An agent's only way out: a bridge in the worker that leads to the model gateway and nowhere else.

    agent ──▶ 127.0.0.1 inside its sandbox ──▶ forwarder.py ──▶ Unix socket ──▶ bridge (worker) ──▶ gateway

The agent has a key that is worth nothing elsewhere; the real one never enters the sandbox, an argument or an event:
the bridge puts it on. Each step has a way of its own, and when the step ends, every connection of it ends.

Under bubblewrap the agent has no network but a loopback of its own, where the forwarder listens. Under Landlock, or
unconfined, it is given a port of the host's loopback, which asks for the step's key: other people of the machine
can reach that port, too.
"""

import os
import secrets
import shutil
import stat
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.domain.ports import AgentRun
from damascus.domain.signs import EndedBy
from damascus.gateway import forwarder
from damascus.gateway import ping as gateway_ping
from damascus.gateway.facts import GatewayFacts, Ledger, Saw
from damascus.gateway.litellm.place import GatewayPlace
from damascus.gateway.server import Listener, UnixListener
from damascus.gateway.upstream import Gateway, Upstream
from damascus.system.sandbox import Level

ANTHROPIC = "https://api.anthropic.com"
SOCKET = "gateway.sock"
SOCKET_PATH_LIMIT = 100
INSIDE = 17480
"""The forwarder's port: in a network namespace of its own, so it is free unless the agent takes it."""


class WayOut:
    """One step's way to the model. What is asked for is opened when it is first asked for."""

    def __init__(self, socket: Path, gateway: Gateway, saw: Saw | None) -> None:
        self.socket = socket
        self.key = f"sk-damascus-{secrets.token_hex(16)}"
        """The agent's own: it opens this way only, and only while the step lasts."""
        self._ledger = Ledger(saw)
        self._upstream = Upstream(gateway)
        self._lock = threading.Lock()
        self._listeners: list[Listener] = [UnixListener(socket, self._upstream, self._ledger)]

    @property
    def port(self) -> int:
        """On the host's loopback. It is open only if somebody asks for it."""
        with self._lock:
            if len(self._listeners) == 1:
                self._listeners.append(Listener(self._upstream, self._ledger, self.key))
            return int(self._listeners[1].server_address[1])

    def port_at(self, level: Level) -> int:
        return INSIDE if level is Level.BUBBLEWRAP else self.port

    def base_url(self, level: Level) -> str:
        return f"http://127.0.0.1:{self.port_at(level)}"

    def prefix(self, level: Level) -> list[str]:
        """What stands before the agent's own command."""
        if level is not Level.BUBBLEWRAP:
            return []
        forward = [_python(), "-I", "-S", str(Path(forwarder.__file__).resolve())]
        return [*forward, "--socket", str(self.socket), "--port", str(INSIDE), "--"]

    @property
    def reads(self) -> tuple[Path, ...]:
        """What the prefix needs to read inside the sandbox, beside the system."""
        return (Path(forwarder.__file__).resolve(), Path(_python()), Path(sys.base_prefix).resolve())

    def facts(self) -> GatewayFacts:
        return self._ledger.facts()

    def close(self) -> None:
        """First both ends of every connection, then the threads: none can begin a new call in between."""
        with self._lock:
            for listener in self._listeners:
                listener.close()
        self._upstream.close()
        for listener in self._listeners:
            listener.wait()
        self._upstream.dispose()


class GatewayBridge:
    """Opens a way for each step, to one gateway with one key."""

    def __init__(
        self, upstream: str, key: str | None = None, *, bearer: bool | None = None, key_from: str = ""
    ) -> None:  # fmt: skip
        self._gateway = Gateway.at(upstream, key, bearer, key_from)

    @property
    def url(self) -> str:
        return self._gateway.url

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], configured_url: str = "", home: Path | None = None
    ) -> "GatewayBridge":
        """[agent] gateway, else ANTHROPIC_BASE_URL, else the gateway that `damascus gateway` started in `home`."""
        own = GatewayPlace(home).running() if home else None
        url = configured_url or environ.get("ANTHROPIC_BASE_URL", "") or (own.url if own else "")
        if not url:
            raise DamascusError("no model gateway: set ANTHROPIC_BASE_URL or start one: damascus gateway")
        if own and home and Gateway.at(url).url == own.url:
            return cls(url, GatewayPlace(home).key(), bearer=True, key_from=str(GatewayPlace(home).key_file))
        key, bearer, name = _key(environ)
        if key and configured_url:
            _refuse_to_be_led_away(configured_url, environ, name)
        return cls(url, key, bearer=bearer, key_from=name)

    def fault(self, api: gateway_ping.Api, model: str) -> str:
        """Asked now: what is wrong with address, key or model; "" where nothing is known against them."""
        return gateway_ping.fault(self._gateway, api, model)

    def marked(self, run: AgentRun, facts: GatewayFacts, model: str) -> AgentRun:
        """A run that failed because the gateway refused its last call says so: that is no story's fault."""
        failed = run.exit_code != 0 and run.ended in (EndedBy.ITSELF, EndedBy.API_ERRORS) and not run.stopped
        if not failed or not facts.errors_in_a_row:
            return run
        told = gateway_ping.refusal(self._gateway, model, facts.last_status, facts.last_error)
        return run.model_copy(update={"broken": told}) if told else run

    @contextmanager
    def open(self, folder: Path, saw: Saw | None = None) -> Iterator[WayOut]:
        """`saw` is an overseer's, called from the bridge's threads, one call at a time."""
        with _socket_in(folder) as path:
            way = WayOut(path, self._gateway, saw)
            try:
                yield way
            finally:
                way.close()


def _python() -> str:
    """The interpreter itself, not a virtual environment's link to it: that one needs more to be readable."""
    return os.path.realpath(sys.executable)


def _key(environ: Mapping[str, str]) -> tuple[str | None, bool | None, str]:
    """The first that is set, whether it is a bearer's, and its variable; a plain API key is shown as the agent does."""
    for name, bearer in (("ANTHROPIC_API_KEY", None), ("ANTHROPIC_AUTH_TOKEN", True), ("LITELLM_MASTER_KEY", True)):
        if key := environ.get(name, "").strip():
            return key, bearer, name
    return None, None, ""


def _refuse_to_be_led_away(configured_url: str, environ: Mapping[str, str], key_from: str) -> None:
    """A repository's file says where the gateway is, but where the user's key goes is the user's word alone.

    ANTHROPIC_API_KEY with no other address is a key of Anthropic's own, so it may go there.
    """
    wanted = Gateway.at(configured_url)
    if wanted.url == ANTHROPIC and key_from == "ANTHROPIC_API_KEY" and not environ.get("ANTHROPIC_BASE_URL"):
        return
    said = [environ.get(name, "") for name in ("DAMASCUS_AGENT_GATEWAY", "ANTHROPIC_BASE_URL")]
    if not wanted.loopback and wanted.url not in [Gateway.at(url).url for url in said if url]:
        raise DamascusError(
            f"damascus.toml names the gateway {wanted.url}, but nothing of yours says that your key may go there. "
            f"If it may: export ANTHROPIC_BASE_URL={wanted.url}"
        )


@contextmanager
def _socket_in(folder: Path) -> Iterator[Path]:
    """In `folder`, or in a short private one where the kernel could not take the path."""
    path, short = folder.absolute() / SOCKET, None
    if len(os.fsencode(path)) >= SOCKET_PATH_LIMIT:
        short = Path(tempfile.mkdtemp(prefix="damascus-", dir="/tmp"))
        path = short / SOCKET
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _remove_socket(path)
    try:
        yield path
    finally:
        _remove_socket(path)
        if short:
            shutil.rmtree(short, ignore_errors=True)


def _remove_socket(path: Path) -> None:
    """A dead step's, or our own."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode):
            path.unlink()
