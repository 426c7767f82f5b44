"""What a worker sends elsewhere: messages to people ([notify]) and traces. Each has a thread of its own, since whoever
it is sent to may be slow; where neither is asked for, nothing of them is even loaded."""

import os
from contextlib import suppress
from importlib import import_module
from typing import Protocol, cast

from damascus.engine.services import Service, ServiceName
from damascus.engine.tools import Tools
from damascus.store.stream import publish

COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
"""OpenTelemetry's own variables: where traces go."""


class Sender(Protocol):
    every: float

    def look(self, *, last: bool = False) -> object:
        """Send what is due; `last`: nothing more will come from this worker."""
        ...


class Outward:
    """Those that this worker has."""

    def __init__(self, tools: Tools) -> None:
        self.tools = tools
        self._senders: dict[str, Sender] = {}
        self._ended = False
        if tools.config.notify.targets:
            self._senders[ServiceName.NOTIFIER] = _made("notifier", "Notifier", tools)
        if traces_wanted():
            self._senders[ServiceName.TRACER] = _made("tracer", "Tracer", tools)

    def services(self) -> dict[str, list[Service]]:
        """By the name of its thread."""
        return {name: [Service(name, each.every, each.look)] for name, each in self._senders.items()}

    def last_look(self) -> None:
        """What happened last is told too. Once, and it fails nothing: the next worker sends what is left. Whoever
        stops it by hand is not kept waiting."""
        if self._ended or not self._senders or self.tools.stopping():
            return
        self._ended = True
        with suppress(Exception):
            publish(self.tools.db)
        for each in self._senders.values():
            with suppress(Exception):
                each.look(last=True)


def traces_wanted() -> bool:
    return any(os.environ.get(name) for name in COLLECTOR)


def _made(module: str, name: str, tools: Tools) -> Sender:
    """Loaded now: it brings a client for HTTP along."""
    return cast(Sender, getattr(import_module(f"damascus.engine.maintenance.{module}"), name)(tools))
