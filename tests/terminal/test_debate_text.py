from inline_snapshot import snapshot

from moot.terminal.debate_text import debate_report_lines, has_debate_report, is_debate
from moot.types.debate import DebateClaims
from moot.types.events import Event, LedgerMade, RunEnded
from moot.types.faults import make_fault
from moot.types.run_state import fold_events
from tests.support.debate_samples import ANALYSIS_EVENTS, RUN_STARTED, debate_events, stage_started
from tests.support.run_events import round_started, run_started, turn_ended


def report_lines(*analyses: Event) -> list[str]:
    return debate_report_lines(fold_events(debate_events(*analyses)))


def test_debate_report_lines_are_labelled() -> None:
    assert "\n".join(report_lines(*ANALYSIS_EVENTS)) == snapshot("""\
Overview: Two want to split, one does not.
Agreement: The cost has to be measured.
Agreement: It is slow.
Disagreement: Beta would not split before.
Convergence: Gamma was won over.

Position of Alpha, first: Split.
Position of Alpha, last (kept): Split, and measure.
Position of Beta: no answer
Position of Gamma, first: Wait.
Position of Gamma, last (changed): Split.

Rank 1: Gamma, 2 points in 2 votes
Rank 2: Alpha, 0.5 points in 1 vote
Rank 2: Beta, 1 point in 2 votes

Flip: Gamma: Wait -> Split, after Alpha's argument
Flip: Gamma: "I change my position."
Flip: Beta: Keep -> Wait
Flip: Beta: "Wait!"

Claim 1: The teams block each other.
Claim 1, for: Alpha: "they block each other"
Claim 1, for: Gamma: "every single week"
Claim 2 (minority): The cost is not known.
Claim 2, for: Beta: "nobody has measured it"
Claim 2, against: Alpha: "we measured it twice"
Left out: 2 quotes that are in no answer

Cost: $0.95
""")


def test_missing_results_are_omitted() -> None:
    assert report_lines() == ["Cost: $0", ""]
    assert report_lines(LedgerMade(basis="l", ledger=DebateClaims(claims=(), flips=()))) == ["Cost: $0", ""]


def test_report_needs_debate_with_answer() -> None:
    assert has_debate_report(fold_events(debate_events()))
    rounds = (RUN_STARTED, round_started(0), turn_ended("alpha", "Yes."), RunEnded(status="completed"))
    assert not has_debate_report(fold_events(rounds))
    refused = turn_ended("alpha", status="failed", error=make_fault("auth", "Key rejected."))
    assert not has_debate_report(fold_events([run_started("a/one"), stage_started("initial"), refused]))


def test_run_is_debate_from_first_stage() -> None:
    assert not is_debate(fold_events([RUN_STARTED, round_started(0)]))
    assert is_debate(fold_events([RUN_STARTED, stage_started("initial")]))


def test_total_cost_includes_turns_and_analyses() -> None:
    turns = [turn_ended("alpha", "Yes.", cost=0.1), turn_ended("beta", cost=0.01)]
    assert debate_report_lines(fold_events([RUN_STARTED, *turns, *ANALYSIS_EVENTS]))[-2] == "Cost: $1.06"
    unknown = turn_ended("alpha", cost=None)
    assert debate_report_lines(fold_events([RUN_STARTED, unknown, *ANALYSIS_EVENTS]))[-2] == "Cost: cost unknown"
