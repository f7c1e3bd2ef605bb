"""Traces of runs and turns for OpenTelemetry, where an endpoint is configured; else nothing at all happens here."""

import time
from collections.abc import Mapping
from typing import Any

from moot import __version__
from moot.model.errors import BadSettings
from moot.model.events import TurnEnded

VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

LAST_MILLISECONDS = 2000  # for what has not been sent when the process ends

_tracer: Any = None
_provider: Any = None


def configure(environment: Mapping[str, str]) -> None:
    """Send traces where the usual variables say, if they say anything."""
    global _tracer, _provider  # noqa: PLW0603 - one a process, as OpenTelemetry has it
    if not any(environment.get(name) for name in VARIABLES):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise BadSettings(
            "Traces are asked for by OTEL_EXPORTER_OTLP_ENDPOINT, but not installed: in a clone of Moot, uv sync --extra otel."
        ) from None
    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME") or "moot"})
    _provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = _provider.get_tracer("moot", __version__)


def close() -> None:
    """Send what is left, but not for long: an endpoint that is away must not hold the process."""
    if _provider is not None:
        _provider.force_flush(LAST_MILLISECONDS)


def turn(run: str, ended: TurnEnded) -> None:
    """Tell of a turn that ended: who, which model, how long and how it went. Never what was said."""
    if _tracer is None:
        return
    now = time.time_ns()
    span = _tracer.start_span(
        "turn",
        start_time=now - int(ended.latency * 1e9),
        attributes={
            "moot.run": run,
            "moot.participant": ended.participant,
            "moot.stage": ended.stage,
            "moot.round": ended.round,
            "moot.status": ended.status,
            "gen_ai.request.model": ended.model,
            "gen_ai.usage.input_tokens": ended.usage.input,
            "gen_ai.usage.output_tokens": ended.usage.output,
        },
    )
    span.end(end_time=now)
