"""Prometheus metrics and OpenTelemetry traces."""

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from moot import __version__
from moot.types.errors import BadSettings
from moot.types.events import TurnEnded

RUNS_ENDED = Counter("moot_runs", "Runs that ended.", ["mode", "status"])
TURNS_ENDED = Counter("moot_turns", "Turns that ended.", ["provider", "status"])
TOKENS_COUNTED = Counter("moot_tokens", "Tokens that providers counted.", ["provider", "direction"])
COST_USD = Counter("moot_cost_dollars", "Cost of turns in US dollars, if the price is known.", ["provider"])
FIRST_TOKEN_SECONDS = Histogram(
    "moot_first_token_seconds",
    "Seconds from the request to the first token.",
    ["provider"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32),
)
LIVE_RUNS = Gauge("moot_live_runs", "Runs that this process executes.")
EVENT_READERS = Gauge("moot_event_readers", "Open event streams of runs in this process.")
EVENTS_WRITTEN = Counter("moot_events_written", "Events written to the log.")
LOG_WRITE_SECONDS = Histogram(
    "moot_log_write_seconds",
    "Seconds to write a batch of events.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)


def count_turn(turn_end: TurnEnded) -> None:
    provider = turn_end.model.partition("/")[0]
    TURNS_ENDED.labels(provider, turn_end.status).inc()
    TOKENS_COUNTED.labels(provider, "input").inc(turn_end.usage.input)
    TOKENS_COUNTED.labels(provider, "output").inc(turn_end.usage.output)
    if turn_end.cost_usd:
        COST_USD.labels(provider).inc(turn_end.cost_usd)
    if turn_end.first_token_seconds is not None:
        FIRST_TOKEN_SECONDS.labels(provider).observe(turn_end.first_token_seconds)


OTLP_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")

FLUSH_MILLISECONDS = 2000  # for spans that are not sent when the process exits

_tracer: Any = None
_provider: Any = None


def configure_tracing(environment: Mapping[str, str]) -> None:
    """Export traces to the endpoint in the standard OTLP variables; do nothing if they are unset.

    Raises BadSettings if the OpenTelemetry packages are not installed.
    """
    global _tracer, _provider  # noqa: PLW0603 - one tracer per process, as OpenTelemetry has it
    if not any(environment.get(name) for name in OTLP_VARIABLES):
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        raise BadSettings(
            "OTEL_EXPORTER_OTLP_ENDPOINT: tracing is not installed. In a clone of Moot, run uv sync --extra otel."
        ) from None
    resource = Resource.create({"service.name": environment.get("OTEL_SERVICE_NAME") or "moot"})
    _provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    _provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    _tracer = _provider.get_tracer("moot", __version__)


def flush_traces() -> None:
    """Send pending spans. The timeout keeps an unreachable endpoint from blocking the process exit."""
    if _provider is not None:
        _provider.force_flush(FLUSH_MILLISECONDS)


def record_turn_span(run: str, turn_end: TurnEnded) -> None:
    """Export a span for a finished turn. It never contains message text."""
    if _tracer is None:
        return
    now = time.time_ns()
    span = _tracer.start_span(
        "turn",
        start_time=now - int(turn_end.latency_seconds * 1e9),
        attributes={
            "moot.run": run,
            "moot.participant": turn_end.participant,
            "moot.stage": turn_end.stage,
            "moot.round": turn_end.round,
            "moot.status": turn_end.status,
            "gen_ai.request.model": turn_end.model,
            "gen_ai.usage.input_tokens": turn_end.usage.input,
            "gen_ai.usage.output_tokens": turn_end.usage.output,
        },
    )
    span.end(end_time=now)
