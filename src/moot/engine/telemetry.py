"""Prometheus metrics and OpenTelemetry traces."""

import time
from collections.abc import Mapping
from typing import Any

from prometheus_client import Counter, Gauge, Histogram

from moot import __version__
from moot.types.errors import BadSettings
from moot.types.events import TurnEnded

RUNS = Counter("moot_runs", "Runs that ended.", ["mode", "status"])
TURNS = Counter("moot_turns", "Turns that ended.", ["provider", "status"])
TOKENS = Counter("moot_tokens", "Tokens that providers counted.", ["provider", "direction"])
COST = Counter("moot_cost_dollars", "What the turns cost, where the price is known.", ["provider"])
FIRST_TOKEN = Histogram(
    "moot_first_token_seconds",
    "From asking to the first token.",
    ["provider"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 16, 32),
)
LIVE_RUNS = Gauge("moot_live_runs", "Runs that this process executes.")
READERS = Gauge("moot_event_readers", "Streams of runs that are open in this process.")
WRITTEN = Counter("moot_events_written", "Events written to the log.")
WRITING = Histogram(
    "moot_log_write_seconds",
    "What it took to write a batch of events.",
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5),
)


def count_turn(ended: TurnEnded) -> None:
    provider = ended.model.partition("/")[0]
    TURNS.labels(provider, ended.status).inc()
    TOKENS.labels(provider, "input").inc(ended.usage.input)
    TOKENS.labels(provider, "output").inc(ended.usage.output)
    if ended.cost:
        COST.labels(provider).inc(ended.cost)
    if ended.first_token is not None:
        FIRST_TOKEN.labels(provider).observe(ended.first_token)


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
