from inline_snapshot import snapshot

from moot.transcript.debate_report import Item, Report, Span, build_report, plain_text, text_lines
from moot.types.debate import DebateClaims, RankedAnswer, Ranking
from moot.types.events import AgreementChecked, SpeakerSelected
from tests.support.debate_samples import DEBATE_CLAIMS, RANKING, SUMMARY

NAMES = {"alpha": "Alpha", "beta": "Beta", "gamma": "Gamma", "delta": "Delta"}
REPORT = build_report(NAMES, "Cost: $0.95", summary=SUMMARY, ranking=RANKING, claims=DEBATE_CLAIMS)


def written(report: Report) -> list[str]:
    return list(text_lines(report))


def test_plain_text_has_one_labelled_value_per_line() -> None:
    assert "\n".join(written(REPORT)) == snapshot("""\
Overview: Two want to split, one does not.
Agreed: The cost has to be measured.
Agreed: It is slow.
Disputed: Beta would not split before.
Convergence: Gamma was won over.

Alpha, at first: Split.
Alpha, in the end: Split, and measure.
Alpha, position: kept
Beta, position: no answer
Gamma, at first: Wait.
Gamma, in the end: Split.
Gamma, position: changed

Rank 1: Gamma, 2 points in 2 votes
Rank 2: Alpha, 0.5 points in 1 vote
Rank 2: Beta, 1 point in 2 votes
Ranked by blind votes of the other participants.

Position changes: Gamma went from “Wait.” to “Split.” after an argument of Alpha: “I change my position.”
Position changes: Beta went from “Keep” to “Wait”: “Wait!”

Claim 1: The teams block each other.
Claim 1, for: Alpha: “they block each other”
Claim 1, for: Gamma: “every single week”
Claim 2: The cost is not known. (minority)
Claim 2, for: Beta: “nobody has measured it”
Claim 2, against: Alpha: “we measured it twice”
Left out: 2 quotes that are in no answer

Cost: $0.95
""")


def test_missing_results_are_omitted() -> None:
    empty = build_report(
        NAMES, "Cost: $0", ranking=Ranking(answers=(), votes={}), claims=DebateClaims(claims=(), position_changes=())
    )
    assert written(empty) == ["Cost: $0", ""]


def test_report_has_title_when_debate_has_results() -> None:
    assert REPORT.title == "Report"
    assert (
        build_report(NAMES, "", agreement=AgreementChecked(cache_key="a", agree=True, reason="All say yes.")).title
        == ""
    )


def test_equal_scores_share_a_rank() -> None:
    last = RankedAnswer(participant="delta", points=0.0, votes=2)
    more = Ranking(answers=(*RANKING.answers, last), votes={})
    labels = [line.partition(",")[0] for line in written(build_report(NAMES, "", ranking=more))]
    assert labels[:4] == ["Rank 1: Gamma", "Rank 2: Alpha", "Rank 2: Beta", "Rank 4: Delta"]


def test_one_dropped_quote_is_singular() -> None:
    claims = DebateClaims(claims=(), position_changes=(), dropped_quotes=1)
    assert "Left out: 1 quote that is in no answer" in written(build_report(NAMES, "", claims=claims))


def test_decisions_name_the_next_speaker() -> None:
    decisions = [
        SpeakerSelected(cache_key=str(turn), turn=turn, next=following, reason="So.")
        for turn, following in enumerate(("alpha", "USER", "END"))
    ]
    assert written(build_report(NAMES, "", decisions=decisions))[:3] == [
        "How the director decided: Alpha speaks next. So.",
        "How the director decided: The user speaks next. So.",
        "How the director decided: The lesson is over. So.",
    ]


def test_plain_text_marks_quotes_and_joins_lines() -> None:
    item = Item((Span("name", "Alpha", "alpha"), ": ", Span("quote", "So\nit is.", "msg_1")))
    assert plain_text(item.line) == "Alpha: “So it is.”"
