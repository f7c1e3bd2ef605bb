from inline_snapshot import snapshot

from moot.terminal.debate_findings import DebateResults
from moot.terminal.debate_text import debate_report_lines
from moot.types.debate import DebateClaims
from moot.types.events import Event, LedgerMade
from tests.support.debate_samples import ANALYSIS_EVENTS, debate_events


def report_lines(*analyses: Event) -> list[str]:
    findings = DebateResults()
    for event in debate_events(*analyses):
        findings.apply_event(event)
    return debate_report_lines(findings)


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
