import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from queue import SimpleQueue

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans
from prometheus_client import REGISTRY, generate_latest

from moot.engine import telemetry
from moot.engine.telemetry import count_turn
from moot.types.chunks import Usage
from moot.types.errors import BadSettings
from moot.types.events import Answer, TurnEnded, TurnStatus
from moot.types.faults import make_fault

NO_USAGE = Usage()


def make_turn_ended(
    model: str,
    status: TurnStatus = "completed",
    *,
    usage: Usage = NO_USAGE,
    cost: float | None = None,
    first_token: float | None = None,
) -> TurnEnded:
    return TurnEnded(
        participant="miss-scarlet",
        stage="answer",
        round=0,
        status=status,
        message=Answer("It was the candlestick.", "Was it the rope?", "In the library."),
        model=model,
        usage=usage,
        cost_usd=cost,
        first_token_seconds=first_token,
        latency_seconds=2.0,
        fault=make_fault("network", "The line to the conservatory broke.") if status == "failed" else None,
    )


def sample(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_tokens_are_counted_by_provider_and_direction() -> None:
    count_turn(make_turn_ended("counting/one", usage=Usage(input=100, output=20, reasoning=5, cached=60)))
    count_turn(make_turn_ended("counting/two/three", usage=Usage(input=10, output=2)))
    assert sample("moot_tokens_total", provider="counting", direction="input") == 110
    assert sample("moot_tokens_total", provider="counting", direction="output") == 22
    assert sample("moot_turns_total", provider="counting", status="completed") == 2


def test_metrics_have_these_names() -> None:
    assert {metric.name for metric in REGISTRY.collect() if metric.name.startswith("moot_")} == {
        "moot_cost_dollars",
        "moot_event_readers",
        "moot_events_written",
        "moot_first_token_seconds",
        "moot_live_runs",
        "moot_log_write_seconds",
        "moot_runs",
        "moot_tokens",
        "moot_turns",
    }


def test_turns_are_counted_by_status() -> None:
    count_turn(make_turn_ended("ending/one"))
    count_turn(make_turn_ended("ending/one", "failed"))
    count_turn(make_turn_ended("ending/one", "failed"))
    assert sample("moot_turns_total", provider="ending", status="completed") == 1
    assert sample("moot_turns_total", provider="ending", status="failed") == 2
    assert sample("moot_turns_total", provider="ending", status="stopped") is None


def test_cost_is_counted_only_when_price_is_known() -> None:
    count_turn(make_turn_ended("dear/one", cost=0.25))
    count_turn(make_turn_ended("dear/one", cost=0.5))
    count_turn(make_turn_ended("dear/one", cost=None))
    count_turn(make_turn_ended("unpriced/one", cost=None))
    assert sample("moot_cost_dollars_total", provider="dear") == 0.75
    assert sample("moot_cost_dollars_total", provider="unpriced_calls") is None


def test_first_token_seconds_are_observed_only_when_a_token_came() -> None:
    count_turn(make_turn_ended("timely/one", first_token=0.3))
    count_turn(make_turn_ended("timely/one", first_token=1.5))
    count_turn(make_turn_ended("timely/one", "failed", first_token=None))
    assert sample("moot_first_token_seconds_count", provider="timely") == 2
    assert sample("moot_first_token_seconds_sum", provider="timely") == 1.8
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="0.5") == 1
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="2.0") == 2
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="32.0") == 2  # the last


def test_metrics_expose_neither_text_nor_participants() -> None:
    count_turn(make_turn_ended("discreet/colonel-mustard", usage=Usage(1, 1), cost=0.1, first_token=0.1))
    count_turn(make_turn_ended("discreet/colonel-mustard", "failed"))
    shown = generate_latest().decode()
    assert 'moot_turns_total{provider="discreet",status="failed"} 1.0' in shown
    for secret in ("candlestick", "rope", "library", "conservatory", "scarlet", "mustard"):
        assert secret not in shown


EXPORTER = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
TURN_PROGRAM = """
import os, sys
from moot.engine import telemetry
from moot.types.chunks import Usage
from moot.types.events import Answer, TurnEnded

telemetry.configure_tracing(os.environ)
said = Answer("It was the candlestick.", "Was it the rope?", "In the library.")
telemetry.record_turn_span(
    "run_1",
    TurnEnded(
        participant="alpha", stage="round", round=1, status="completed", message=said, model="lab/echo",
        usage=Usage(input=7, output=3), cost_usd=None, latency_seconds=1.5,
    ),
)
telemetry.flush_traces()
print(sorted(name for name in sys.modules if name.startswith("opentelemetry")))
"""


def export_turn_in_process(**environment: str) -> str:
    """Export a turn from a separate process and return its output."""
    usual = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(  # noqa: S603 - Python, with code of our own
        [sys.executable, "-c", TURN_PROGRAM],
        env=usual | {"NO_PROXY": "*"} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout


class Collector:
    """Receives exported data over HTTP."""

    def __init__(self) -> None:
        self.received: SimpleQueue[tuple[str, bytes]] = SimpleQueue()
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.put((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def collector() -> Iterator[Collector]:
    collector = Collector()
    thread = threading.Thread(target=collector.server.serve_forever, args=(0.01,))
    thread.start()
    yield collector
    collector.server.shutdown()
    thread.join()
    collector.server.server_close()


def parse_spans(body: bytes) -> ResourceSpans:
    request = ExportTraceServiceRequest()
    request.ParseFromString(body)
    spans: ResourceSpans
    (spans,) = request.resource_spans
    return spans


def test_tracing_package_is_not_loaded_without_endpoint() -> None:
    assert export_turn_in_process() == "[]\n"


def test_turn_span_is_exported_to_endpoint(collector: Collector) -> None:
    assert EXPORTER in export_turn_in_process(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
    path, body = collector.received.get_nowait()
    assert path == "/v1/traces"
    sent = parse_spans(body)
    (span,) = sent.scope_spans[0].spans
    assert span.name == "turn"
    assert span.end_time_unix_nano - span.start_time_unix_nano == 1_500_000_000
    attributes = {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
    assert attributes == {
        "moot.run": "run_1",
        "moot.participant": "alpha",
        "moot.stage": "round",
        "moot.round": 1,
        "moot.status": "completed",
        "gen_ai.request.model": "lab/echo",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 3,
    }
    resource = {one.key: one.value.string_value for one in sent.resource.attributes}
    assert resource["service.name"] == "moot"
    assert collector.received.empty()


def test_turn_span_contains_no_text(collector: Collector) -> None:
    export_turn_in_process(OTEL_EXPORTER_OTLP_ENDPOINT=collector.address)
    _, body = collector.received.get_nowait()
    for secret in (b"candlestick", b"rope", b"library"):
        assert secret not in body


def test_traces_endpoint_and_service_name_are_used(collector: Collector) -> None:
    export_turn_in_process(
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"{collector.address}/mine", OTEL_SERVICE_NAME="our-table"
    )
    path, body = collector.received.get_nowait()
    assert path == "/mine"
    resource = {one.key: one.value.string_value for one in parse_spans(body).resource.attributes}
    assert resource["service.name"] == "our-table"


@pytest.mark.parametrize("variable", telemetry.OTLP_VARIABLES)
def test_configure_tracing_rejects_missing_package_with_install_hint(
    monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setitem(sys.modules, EXPORTER, None)
    with pytest.raises(BadSettings, match="uv sync --extra otel"):
        telemetry.configure_tracing({variable: "http://127.0.0.1:4318"})


def test_configure_tracing_needs_no_package_without_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, EXPORTER, None)
    telemetry.configure_tracing({})
    telemetry.configure_tracing(dict.fromkeys(telemetry.OTLP_VARIABLES, ""))
    assert telemetry._tracer is None
