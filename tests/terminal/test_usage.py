from inline_snapshot import snapshot

from moot.terminal.usage import usage_lines
from moot.types.chunks import Usage
from moot.types.events import ANALYSIS_RESULTS, AgreementChecked, SpeakerSelected
from moot.types.participants import make_participants
from tests.support.debate_samples import ANALYSIS_EVENTS
from tests.support.run_events import CONNECTION_BROKE, KEY_REJECTED, turn_ended


def test_usage_lines_have_one_line_per_participant() -> None:
    turns = [
        turn_ended("alpha", cost=0.0123),
        turn_ended("beta", model="b/two", cost=None, usage=Usage(5, 7, estimated=True)),
        turn_ended("gamma", model="c/three", cost=0.0, usage=Usage(100, 50, reasoning=40, cached=80)),
        turn_ended("delta", model="d/four", status="failed", error=KEY_REJECTED, usage=Usage(), first_token=None),
        turn_ended("epsilon", model="e/five", cost=120.0),
    ]
    assert usage_lines(make_participants(("a/one",) * 5), turns) == snapshot(
        [
            "Alpha · a/one: 10 in, 20 out, $0.0123, first token 0.50 s, 2.00 s in all",
            "Beta · b/two: about 5 in, about 7 out, cost unknown, first token 0.50 s, 2.00 s in all",
            "Gamma · c/three: 100 in, 50 out, 40 of them reasoning, 80 cached, $0, first token 0.50 s, 2.00 s in all",
            "Delta · d/four: 0 in, 0 out, $0, no first token, 2.00 s in all",
            "Epsilon · e/five: 10 in, 20 out, $120.00, first token 0.50 s, 2.00 s in all",
        ]
    )


def test_usage_lines_sum_turns_of_participant() -> None:
    turns = [
        turn_ended("alpha", cost=0.1, first_token=None, status="failed", error=CONNECTION_BROKE),
        turn_ended("beta", model="b/two", cost=0.5),
        turn_ended("alpha", cost=0.2, usage=Usage(1, 2, cached=3), model="z/fallback", first_token=0.75),
        turn_ended("beta", model="b/two", cost=None),
    ]
    assert usage_lines(make_participants(("a/one", "b/two")), turns) == snapshot(
        [
            "Alpha · a/one, z/fallback: 2 turns, 11 in, 22 out, 3 cached, $0.30, first token 0.75 s, 4.00 s in all",
            "Beta · b/two: 2 turns, 20 in, 40 out, cost unknown, first token 0.50 s, 4.00 s in all",
        ]
    )


def test_usage_lines_mark_estimates_and_tiny_costs() -> None:
    (estimated,) = usage_lines(
        make_participants(("a/one",)), [turn_ended("alpha", cost=0.1, usage=Usage(1, 1, estimated=True))]
    )
    (tiny,) = usage_lines(make_participants(("a/one",)), [turn_ended("alpha", cost=4e-7)])
    assert "about $0.1" in estimated
    assert "less than $0.000001" in tiny


def test_usage_lines_group_analyses_by_purpose_and_end_with_total() -> None:
    gate = AgreementChecked(cache_key="g", agree=False, reason="No.", model="a/one", usage=Usage(9, 1), cost_usd=0.05)
    found = [gate, *(one for one in ANALYSIS_EVENTS if isinstance(one, ANALYSIS_RESULTS))]
    turns = [turn_ended("alpha", cost=0.1), turn_ended("beta", model="b/two", cost=0.2)]
    *_, gated, summary, ledger, ranking, everything = usage_lines(make_participants(("a/one", "b/two")), turns, found)
    assert [gated, summary, ledger, ranking, everything] == snapshot(
        [
            "Agreement check · a/one: 9 in, 1 out, $0.05",
            "Summary · a/one: 100 in, 50 out, $0.25",
            "Claims · a/one: 100 in, 60 out, $0.50",
            "Ranking · a/one, b/two: 2 calls, 60 in, 10 out, $0.20",
            "In all: 7 calls, 289 in, 161 out, $1.30",
        ]
    )


def test_total_cost_is_unknown_when_one_price_is_unknown() -> None:
    gate = AgreementChecked(cache_key="g", agree=False, reason="No.", model="a/one", usage=Usage(9, 1), cost_usd=None)
    assert usage_lines(make_participants(("a/one",)), [turn_ended("alpha", cost=0.1)], [gate])[-1].endswith(
        "cost unknown"
    )


def test_usage_lines_count_director_only_when_model_was_called() -> None:
    rules = SpeakerSelected(cache_key="1", turn=0, next="alpha", reason="Selected as the first speaker.")
    asked = SpeakerSelected(
        cache_key="2",
        turn=1,
        next="beta",
        reason="Now.",
        decided_by="model",
        model="a/one",
        usage=Usage(9, 1),
        cost_usd=0.05,
    )
    lines = usage_lines(make_participants(("a/one",)), [turn_ended("alpha", cost=0.1)], [rules, asked])
    assert lines[-2] == "Director · a/one: 9 in, 1 out, $0.05"
