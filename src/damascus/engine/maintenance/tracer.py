"""Sends one trace for each story that came to rest (done, blocked, cancelled) to an OpenTelemetry collector.

Made from the journal and the events once it is over, so no step waits for it. One worker at a time reads on; if it dies
the next sends the same traces again, with the same ids.
"""

import os
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast
from urllib.parse import urlsplit

from damascus.domain.errors import DamascusError
from damascus.engine.tools import Tools
from damascus.engine.traces.spans import Trace, trace_of
from damascus.store import cursors, traces
from damascus.store.cursors import StreamReader

EVERY = 5.0
TAKEN = 120.0
AT_ONCE = 20
INSTALL = "pip install 'damascus-orchestrator[traces]'"


class Sends(Protocol):
    def send(self, trace: Trace) -> bool: ...


class Tracer:
    every = EVERY

    def __init__(self, tools: Tools, collector: Sends | None = None) -> None:
        self.tools = tools
        self._collector = collector
        self._begun = False

    def look(self, *, last: bool = False) -> int:
        """Send what has come to rest since the last look. How many traces."""
        db, project = self.tools.db, self.tools.project.id
        if not self._begun:
            cursors.begin(db, project, StreamReader.TRACER)
            self._begun = True
        place = cursors.take(db, project, StreamReader.TRACER, TAKEN)
        if place is None:
            return 0
        reached, sent = None, 0
        try:
            found = traces.stories_at_rest(db, project, place["seq"], place["last_seq"], AT_ONCE)
            for rest in found:
                sent += self._sent(rest)
                reached = rest.seq
            reached = place["last_seq"] if len(found) < AT_ONCE else reached
        finally:
            cursors.leave(db, project, StreamReader.TRACER, reached)
        return sent

    def _sent(self, rest: traces.AtRest) -> bool:
        trace = trace_of(traces.stretch(self.tools.db, rest))
        if trace is None:
            return False
        if not self._to().send(trace):
            raise DamascusError(f"the collector at {_address()} did not take the trace of {rest.story_id}")
        return True

    def _to(self) -> Sends:
        if self._collector is None:
            if lacking():
                raise DamascusError(lacking())
            made = import_module("damascus.engine.traces.otlp").Collector
            self._collector = cast(Sends, made(self.tools.project.name, os.environ.get("OTEL_SERVICE_NAME")))
        return self._collector


def lacking() -> str:
    """Why no trace can be sent here, in a sentence; "" where it can."""
    for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            found = find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"the packages that send traces are not installed. Install them: {INSTALL}"
    return ""


def _address() -> str:
    """Host and port alone: an address may hold a key."""
    named = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT", "")
    try:
        parts = urlsplit(named)
        return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
    except ValueError:
        return "OTEL_EXPORTER_OTLP_ENDPOINT"
