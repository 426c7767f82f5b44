"""Starts LiteLLM on loopback, waits until it answers, and ends it. It sees an allow-list of the environment only."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import httpx

from damascus.domain.errors import DamascusError
from damascus.gateway.litellm.config import CALLBACK, MASTER_KEY, callback_text, variables
from damascus.gateway.litellm.place import GatewayPlace, Running
from damascus.system.installing import install

PASSED_ON = re.compile(
    r"PATH|HOME|TMPDIR|TZ|LANG|LC_[A-Z]+|SSL_CERT_(FILE|DIR)|REQUESTS_CA_BUNDLE|(?i:(https?|no)_proxy)"
)
QUIET = {
    "LITELLM_MODE": "PRODUCTION",  # else it reads any .env file on its way up from the current folder
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it fetches its price table at every start
    "DISABLE_ADMIN_UI": "True",
    "NO_DOCS": "True",
    "PYTHONUNBUFFERED": "1",
}
READY_LIMIT = 180.0
POLL = 0.1


def find_program(environ: Mapping[str, str]) -> str:
    """Beside our own interpreter, else on PATH."""
    beside = Path(sys.executable).parent / "litellm"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("litellm", path=environ.get("PATH"))
    if not found:
        raise DamascusError(f"LiteLLM is not installed: {install('gateway')}")
    return found


def environment(place: GatewayPlace, environ: Mapping[str, str]) -> dict[str, str]:
    wanted = variables(place.config.read_text())
    missing = [name for name in wanted if not environ.get(name)]
    if missing:
        raise DamascusError(
            f"{place.config} takes a key from {missing[0]}, which is not set. Set it: export {missing[0]}=…"
        )
    passed = {name: value for name, value in environ.items() if PASSED_ON.fullmatch(name) or name in wanted}
    return {**passed, **QUIET, MASTER_KEY: place.key()}


def start(place: GatewayPlace, port: int, environ: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """In a session of its own; who runs is written down before it is ready, so that it can always be ended."""
    program, env = find_program(environ), environment(place, environ)
    _refuse_taken(port)
    place.write_private(place.folder / f"{CALLBACK}.py", callback_text())
    argv = [program, "--config", str(place.config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
    handle = os.open(place.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        started = subprocess.Popen(
            argv, cwd=place.folder, env=env, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(handle)
    place.note(Running.of(started.pid, f"http://127.0.0.1:{port}"))
    return started


def _refuse_taken(port: int) -> None:
    with socket.socket() as asked:
        asked.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            asked.bind(("127.0.0.1", port))
        except OSError as err:
            raise DamascusError(f"port {port} can't be used: {err.strerror}. Choose another: --port N") from None


def wait_until_ready(
    started: subprocess.Popen[bytes], place: GatewayPlace, url: str, tick: Callable[[float], None]
) -> float:
    """Seconds that it took; `tick` is told of them meanwhile."""
    begun = time.monotonic()
    with httpx.Client(trust_env=False, timeout=2.0) as client:
        while (waited := time.monotonic() - begun) < READY_LIMIT:
            tick(waited)
            if started.poll() is not None:
                raise DamascusError(f"LiteLLM exited with code {started.returncode}: {last_line(place)}")
            with suppress(httpx.HTTPError):
                if client.get(f"{url}/health/liveliness").status_code == 200:
                    return waited
            time.sleep(POLL)
    raise DamascusError(f"LiteLLM did not answer for {READY_LIMIT:.0f} s. Its log: {place.log}")


def last_line(place: GatewayPlace) -> str:
    lines = [line.strip() for line in place.log.read_text(errors="replace").splitlines() if line.strip()]
    return f"{lines[-1][:300] if lines else 'it printed nothing'} (log: {place.log})"


def end(running: Running, place: GatewayPlace) -> None:
    running.end()
    place.forget()
