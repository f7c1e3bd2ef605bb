from prometheus_client import REGISTRY, generate_latest

from moot.engine.metrics import count_turn
from moot.model.chunks import Usage
from moot.model.events import Answer, TurnEnded, TurnStatus
from moot.model.faults import fault

NOTHING = Usage()


def ended(
    model: str,
    status: TurnStatus = "completed",
    *,
    usage: Usage = NOTHING,
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
        cost=cost,
        first_token=first_token,
        latency=2.0,
        fault=fault("network", "The line to the conservatory broke.") if status == "failed" else None,
    )


def sample(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


def test_tokens_are_counted_by_provider_and_direction() -> None:
    count_turn(ended("counting/one", usage=Usage(input=100, output=20, reasoning=5, cached=60)))
    count_turn(ended("counting/two/three", usage=Usage(input=10, output=2)))
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


def test_turns_are_counted_by_how_they_ended() -> None:
    count_turn(ended("ending/one"))
    count_turn(ended("ending/one", "failed"))
    count_turn(ended("ending/one", "failed"))
    assert sample("moot_turns_total", provider="ending", status="completed") == 1
    assert sample("moot_turns_total", provider="ending", status="failed") == 2
    assert sample("moot_turns_total", provider="ending", status="stopped") is None


def test_cost_is_counted_where_the_price_is_known() -> None:
    count_turn(ended("dear/one", cost=0.25))
    count_turn(ended("dear/one", cost=0.5))
    count_turn(ended("dear/one", cost=None))
    count_turn(ended("unpriced/one", cost=None))
    assert sample("moot_cost_dollars_total", provider="dear") == 0.75
    assert sample("moot_cost_dollars_total", provider="unpriced") is None


def test_the_time_to_the_first_token_is_observed_where_one_came() -> None:
    count_turn(ended("timely/one", first_token=0.3))
    count_turn(ended("timely/one", first_token=1.5))
    count_turn(ended("timely/one", "failed", first_token=None))
    assert sample("moot_first_token_seconds_count", provider="timely") == 2
    assert sample("moot_first_token_seconds_sum", provider="timely") == 1.8
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="0.5") == 1
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="2.0") == 2
    assert sample("moot_first_token_seconds_bucket", provider="timely", le="32.0") == 2  # the last


def test_neither_what_was_said_nor_who_said_it_is_shown() -> None:
    count_turn(ended("discreet/colonel-mustard", usage=Usage(1, 1), cost=0.1, first_token=0.1))
    count_turn(ended("discreet/colonel-mustard", "failed"))
    shown = generate_latest().decode()
    assert 'moot_turns_total{provider="discreet",status="failed"} 1.0' in shown
    for secret in ("candlestick", "rope", "library", "conservatory", "scarlet", "mustard"):
        assert secret not in shown
