"""Spans as OpenTelemetry's own, sent by its exporter for OTLP over HTTP (the extra `traces`).

Address, headers, certificates and compression are the exporter's variables (OTEL_EXPORTER_OTLP_…)."""

import logging
from datetime import datetime

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.trace.status import Status, StatusCode

from damascus import __version__
from damascus.engine.traces.spans import StorySpan, Trace

SECONDS = 10.0
SCOPE = InstrumentationScope("damascus", __version__)


class Collector:
    """Where traces are sent."""

    def __init__(self, project: str, environ_name: str | None) -> None:
        quiet = logging.getLogger("opentelemetry")  # a service tells of its failures itself, not on the terminal
        quiet.addHandler(logging.NullHandler())
        quiet.propagate = False
        named = environ_name or "damascus"
        facts = {SERVICE_NAME: named, SERVICE_VERSION: __version__, "damascus.project": project}
        self._resource = Resource.create(facts)
        self._exporter = OTLPSpanExporter(timeout=SECONDS)

    def send(self, trace: Trace) -> bool:
        """Has it been taken?"""
        return self._exporter.export([self._span(trace, each) for each in trace.spans]) is SpanExportResult.SUCCESS

    def _span(self, trace: Trace, span: StorySpan) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(trace.id, span.id),
            parent=_context(trace.id, span.parent) if span.parent is not None else None,
            resource=self._resource,
            attributes=dict(span.facts),
            links=[Link(_context(*trace.before))] if span.parent is None and trace.before else [],
            kind=SpanKind.INTERNAL,
            status=Status(StatusCode.ERROR if span.failed else StatusCode.OK),
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=SCOPE,
        )


def _context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _nanoseconds(moment: datetime) -> int:
    """Whole microseconds, as the database has them: a float would lose the last digits."""
    return (int(moment.timestamp()) * 1_000_000 + moment.microsecond) * 1000
