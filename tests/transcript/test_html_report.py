"""The report of a run as HTML."""

from msgspec.structs import replace

from moot.services.run_reports import RunReport
from moot.transcript.html_format import HtmlFormat
from tests.support.safe_html import ParsedHtml, parse_safe_html
from tests.support.transcript_samples import LESSON_REPORT, REPORT


def parse_report_html(report: RunReport) -> ParsedHtml:
    return parse_safe_html(HtmlFormat().render_report(report))


def test_summary_is_table_of_positions() -> None:
    shown = parse_report_html(REPORT)
    assert shown.texts("tr")[:4] == [
        "At firstIn the endPosition",
        "AlphaSplit.Split, and measure.kept",
        "Betano answer",
        "GammaWait.Split.changed",
    ]
    assert shown.texts("div", "agreed") == ["AgreedThe cost has to be measured.It is slow."]
    assert shown.texts("div", "disputed") == ["DisputedBeta would not split before."]


def test_ranking_position_changes_and_claims_have_quotes() -> None:
    shown = parse_report_html(REPORT)
    assert shown.texts("div", "ranking") == [
        "RankingRank 1 Gamma, 2 points in 2 votesRank 2 Alpha, 0.5 points in 1 voteRank 2 Beta, 1 point in 2 votes"
    ]
    (changes,) = shown.texts("div", "position-changes")
    assert "Gamma went from “Wait.” to “Split.” after an argument of Alpha: I change my position." in changes
    assert changes.endswith("Beta went from “Keep” to “Wait”: Wait!")
    (claims,) = shown.texts("div", "claims")
    assert claims.startswith("ClaimsClaim 1 The teams block each other.for Alpha: they block")
    assert shown.texts("span", "minority") == ["minority"]
    assert "against Alpha: we measured it twice" in claims
    assert shown.texts("p", "note") == [
        "Ranked by blind votes of the other participants.",
        "Left out: 2 quotes that are in no answer",
    ]


def test_missing_answers_are_listed_with_error() -> None:
    assert parse_report_html(REPORT).texts("div", "without-an-answer") == [
        "Without an answerBeta: Key rejected for b (HTTP 401)."
    ]


def test_run_without_results_has_only_usage() -> None:
    shown = parse_report_html(
        replace(LESSON_REPORT, decisions=(), agreement=None, status="completed", unpriced_calls=0)
    )
    assert [node.name for node in shown.nodes] == ["section", "p"]
    assert shown.texts("p") == ["In all: 5,000 tokens in, 600 out, $0.25"]


def test_disagreement_of_first_answers_is_stated() -> None:
    assert LESSON_REPORT.agreement is not None
    shown = parse_report_html(replace(LESSON_REPORT, agreement=replace(LESSON_REPORT.agreement, agree=False)))
    assert "The first answers do not agree. All say yes." in shown.texts("p")
