"""What the bridge has seen of one agent step: the counters of its model calls."""

import threading
import time
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, Field

from damascus.domain.ports import Usage
from damascus.domain.signs import Sign

Saw = Callable[..., None]
"""An overseer's `saw`: ("api_error", status=, resets_in=), ("api_ok"), ("usage", usage= what came since)."""


class GatewayFacts(BaseModel):
    """`requests` and `statuses` are all that went to the gateway; the rest is of calls to the model only.

    Status 502: the gateway could not be reached, or broke off; 504: it was silent for too long. `refused` counts what
    the bridge itself turned away.
    """

    requests: int = 0
    refused: int = 0
    statuses: dict[int, int] = Field(default_factory=dict)
    errors_in_a_row: int = 0
    last_error: str = ""
    last_status: int = 0
    resets_in: float | None = None
    usage: Usage = Usage()


class Ledger:
    """Written by the bridge's threads, read by the step's. `saw` is told one thing at a time."""

    def __init__(self, saw: Saw | None = None) -> None:
        self._saw = saw or _nobody
        self._lock = threading.RLock()
        self._facts = GatewayFacts()
        self._resets_at: float | None = None

    def facts(self) -> GatewayFacts:
        with self._lock:
            left = None if self._resets_at is None else max(self._resets_at - time.monotonic(), 0.0)
            return self._facts.model_copy(update={"resets_in": left}, deep=True)

    def refused(self) -> None:
        with self._lock:
            self._facts.refused += 1

    def answered(self, status: int) -> None:
        with self._lock:
            self._facts.requests += 1
            self._facts.statuses[status] = self._facts.statuses.get(status, 0) + 1

    def failed(self, status: int, text: str, resets_in: float | None = None) -> None:
        with self._lock:
            self._facts.errors_in_a_row += 1
            self._facts.last_error, self._facts.last_status = text, status
            self._resets_at = None if resets_in is None else time.monotonic() + resets_in
            self._saw(Sign.API_ERROR, status=status, resets_in=resets_in)

    def succeeded(self) -> None:
        with self._lock:
            self._facts.errors_in_a_row = 0
            self._resets_at = None
            self._saw(Sign.API_OK)

    def used(self, usage: Usage) -> None:
        if usage == Usage():
            return
        with self._lock:
            self._facts.usage += usage
            self._saw(Sign.USAGE, usage=usage)


def _nobody(sign: Sign, **facts: Any) -> None:
    """Nobody oversees."""
