"""One LiteLLM for all scenarios: its start takes some 20 s, and each process of a test run may need it.

The first that needs it starts it, and stops it once no other uses it. Its model is always at the same port, where the
scenario whose turn it is listens.
"""

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.agents.litellm_gateway import litellm
from tests.agents.upstream import free_port
from tests.databases import FOLDER
from tests.model_server import ModelServer
from tests.scenarios.stories import Key


@dataclass(frozen=True)
class OneGateway:
    """`folder` is shared by the processes of one test run."""

    folder: Path
    key: Key
    port: int

    @contextmanager
    def model(self) -> Iterator[ModelServer]:
        """The model behind the gateway, for one scenario at a time."""
        with locked(self.folder / "turn"), ModelServer(port=self.port) as server:
            yield server


@contextmanager
def one_gateway() -> Iterator[OneGateway]:
    """Whoever uses it holds a lock together with the others; who started it waits until it is the last."""
    folder = Path(os.environ[FOLDER]) / "gateway"
    folder.mkdir(mode=0o700, exist_ok=True)
    told = folder / "told.json"
    with locked(folder / "users", fcntl.LOCK_SH) as users, ExitStack() as started:
        with locked(folder / "start"):
            if not told.exists():
                started.enter_context(_started(folder, told))
                started.callback(fcntl.flock, users, fcntl.LOCK_EX)
        yield OneGateway(folder, *_read(told))


@contextmanager
def _started(folder: Path, told: Path) -> Iterator[None]:
    port = free_port()
    with litellm(folder / "home", f"http://127.0.0.1:{port}") as gateway:
        told.write_text(json.dumps([gateway.url, gateway.place.key(), port]))
        try:
            yield
        finally:
            told.unlink()


def _read(told: Path) -> tuple[Key, int]:
    url, token, port = json.loads(told.read_text())
    return Key(url, token), port


@contextmanager
def locked(path: Path, how: int = fcntl.LOCK_EX) -> Iterator[int]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, how)
        yield handle
    finally:
        os.close(handle)
