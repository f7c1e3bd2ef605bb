"""What a run came to, as HTML."""

from msgspec.structs import replace

from moot.services.run_reports import RunReport
from moot.transcript.html import escape_html
from moot.transcript.html_debate import render_debate_report
from moot.transcript.labels import ParticipantNames
from tests.support.safe_html import ParsedHtml, parse_safe_html
from tests.support.transcript_samples import LESSON_REPORT, REPORT

NAMES = ParticipantNames(alpha="Alpha", beta="Beta", gamma="Gamma")


def parse_report_html(report: RunReport) -> ParsedHtml:
    return parse_safe_html(render_debate_report(report, NAMES, lambda who: escape_html(NAMES[who])))


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
    assert shown.texts("table", "ranking") == [
        "1.Gamma2 points in 2 votes2.Alpha0.5 points in 1 vote2.Beta1 point in 2 votes"
    ]
    (flips,) = shown.texts("ul", "flips")
    assert flips.startswith("Gamma went from “Wait.” to “Split.” after an argument of Alpha I change my position.")
    assert flips.endswith("Beta went from “Keep” to “Wait” Wait!")
    assert shown.texts("ol", "claims")[0].startswith("The teams block each other.for Alpha they block")
    assert shown.texts("span", "minority") == ["minority"]
    assert "against Alpha we measured it twice" in shown.texts("ol", "claims")[0]


def test_missing_answers_are_listed_with_error() -> None:
    assert parse_report_html(REPORT).texts("ul", "missing") == ["Beta: Key rejected for b (HTTP 401)."]


def test_run_without_results_has_only_usage() -> None:
    shown = parse_report_html(replace(LESSON_REPORT, decisions=(), agreed=None, status="completed", unpriced=0))
    assert [node.name for node in shown.nodes] == ["section", "p"]
    assert shown.texts("p") == ["5,000 tokens in, 600 out, $0.25"]


def test_disagreement_of_first_answers_is_stated() -> None:
    assert LESSON_REPORT.agreed is not None
    shown = parse_report_html(replace(LESSON_REPORT, agreed=replace(LESSON_REPORT.agreed, agree=False)))
    assert "The first answers do not agree. All say yes." in shown.texts("p")
