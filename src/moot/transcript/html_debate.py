"""HTML for the results of a run: debate report, director decisions and cost."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from moot.services.run_reports import RunReport
from moot.transcript.debate_report import number_ranks, points_text, position_status
from moot.transcript.html import escape_html, html_element, html_list
from moot.transcript.labels import total_usage_text
from moot.types.debate import Claim, ClaimQuote, DebateSummary, PositionChange, Ranking
from moot.types.events import Decided
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT

Chip = Callable[[str], str]  # renders the name of a participant id, in its colour


def render_debate_report(report: RunReport, names: Mapping[str, str], chip: Chip) -> str:
    """Render a section. Without results it has only the status and the cost."""
    parts = [
        *_summary_section(report.summary, chip),
        *_missing_answers(report, chip),
        *_ranking_section(report.ranking, chip),
        *_position_changes_section(report.flips, chip),
        *_claims_section(report.claims, chip),
        *_decisions_section(report.decisions, names),
    ]
    if report.agreed is not None:
        verdict = "agree" if report.agreed.agree else "do not agree"
        parts.insert(0, html_element("p", escape_html(f"The first answers {verdict}. {report.agreed.reason}")))
    ended = "" if report.status == "completed" else f"{report.status.capitalize()}. "
    parts.append(
        html_element(
            "p",
            escape_html(f"{ended}{total_usage_text(report.usage, report.cost, report.unpriced)}"),
            class_="spent",
        )
    )
    has_results = report.summary or report.ranking or report.claims
    title = [html_element("h2", "Minutes")] if has_results else []
    return html_element("section", *title, *parts, class_="minutes" if has_results else "ending") + "\n"


def _summary_section(summary: DebateSummary | None, chip: Chip) -> Iterator[str]:
    if summary is None:
        return
    cross = summary.cross_model
    yield html_element("p", escape_html(summary.overview), class_="overview")
    columns = [
        html_element("div", html_element("h3", title), html_list([escape_html(one) for one in points]), class_=kind)
        for title, points, kind in (
            ("Agreed", cross.agreements, "agreed"),
            ("Disputed", cross.disagreements, "disputed"),
        )
        if points
    ]
    if columns:
        yield html_element("div", *columns, class_="columns")
    if cross.convergence_summary:
        yield html_element("p", escape_html(cross.convergence_summary))
    head = "".join(html_element("th", title, scope="col") for title in ("", "At first", "In the end", "Position"))
    rows = [
        html_element(
            "tr",
            html_element("th", chip(row.participant), scope="row"),
            html_element("td", escape_html(row.initial_summary)),
            html_element("td", escape_html(row.refined_summary)),
            html_element("td", escape_html(position_status(row)), class_=position_status(row).replace(" ", "-")),
        )
        for row in summary.per_model
    ]
    yield html_element("table", html_element("thead", html_element("tr", head)), html_element("tbody", *rows))


def _missing_answers(report: RunReport, chip: Chip) -> Iterator[str]:
    failed = [f"{chip(lane.participant)}: {escape_html(lane.error)}" for lane in report.lanes if lane.error]
    if failed:
        yield html_element("h3", "Without an answer")
        yield html_list(failed, class_="missing")


def _ranking_section(ranking: Ranking | None, chip: Chip) -> Iterator[str]:
    if ranking is None or not ranking.places:
        return
    yield html_element("h3", "Ranking")
    yield html_element("p", "Blind votes of the other participants.", class_="note")
    rows = [
        html_element(
            "tr",
            html_element("td", f"{number}."),
            html_element("th", chip(place.participant), scope="row"),
            html_element("td", escape_html(points_text(place))),
        )
        for number, place in number_ranks(ranking)
    ]
    yield html_element("table", html_element("tbody", *rows), class_="ranking")


def _position_changes_section(changes: Sequence[PositionChange], chip: Chip) -> Iterator[str]:
    if not changes:
        return
    yield html_element("h3", "Changes of mind")
    items = []
    for change in changes:
        after = f" after an argument of {chip(change.because_of)}" if change.because_of else ""
        text = f"{chip(change.participant)} went from “{escape_html(change.before)}” to “{escape_html(change.after)}”{after}"
        items.append(text + _quote_link(change.quote, change.message))
    yield html_list(items, class_="flips")


def _claims_section(claims: Sequence[Claim], chip: Chip) -> Iterator[str]:
    if not claims:
        return
    yield html_element("h3", "Claims")
    items = []
    for claim in claims:
        minority = " " + html_element("span", "minority", class_="minority") if claim.minority else ""
        quotes = [
            *_claim_quotes("for", claim.supporters, chip),
            *_claim_quotes("against", claim.opponents, chip),
        ]
        items.append(html_element("strong", escape_html(claim.claim)) + minority + html_list(quotes, class_="voices"))
    yield html_list(items, "ol", class_="claims")


def _claim_quotes(side: str, quotes: Sequence[ClaimQuote], chip: Chip) -> Iterator[str]:
    for quote in quotes:
        label = html_element("span", side, class_=side)
        yield f"{label} {chip(quote.participant)}{_quote_link(quote.quote, quote.message)}"


def _quote_link(quote: str, message: str) -> str:
    """Link a quote to the answer that contains it."""
    return " " + html_element("q", html_element("a", escape_html(quote), href=f"#{message}"))


def _decisions_section(decisions: Sequence[Decided], names: Mapping[str, str]) -> Iterator[str]:
    if not decisions:
        return
    special = {USER_SPEAKS_NEXT: "The user speaks next.", LESSON_ENDS: "The lesson is over."}
    items = [
        escape_html(f"{special.get(one.next) or f'{names[one.next]} speaks next.'} {one.reason}") for one in decisions
    ]
    summary = html_element("summary", "How the director decided")
    yield html_element("details", summary, html_list(items, "ol"), class_="decisions")
