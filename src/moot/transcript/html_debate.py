"""The results of a debate as HTML."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from moot.services.run_reports import Report
from moot.transcript.debate_report import changed, placed, points
from moot.transcript.html import element, listed, words
from moot.transcript.labels import spent
from moot.types.debate import Claim, Flip, Ranking, Summary, Voice
from moot.types.events import Decided
from moot.types.modes import END, USER

Chip = Callable[[str], str]  # a participant's name, in its colour


def minutes(report: Report, names: Mapping[str, str], chip: Chip) -> str:
    """Write what was found; a run in which nothing was has a line that says what it took."""
    parts = [
        *_summary(report.summary, chip),
        *_missing(report, chip),
        *_ranking(report.ranking, chip),
        *_flips(report.flips, chip),
        *_claims(report.claims, chip),
        *_decisions(report.decisions, names),
    ]
    if report.agreed is not None:
        stand = "agree" if report.agreed.agree else "do not agree"
        parts.insert(0, element("p", words(f"The first answers {stand}. {report.agreed.reason}")))
    ended = "" if report.status == "completed" else f"{report.status.capitalize()}. "
    parts.append(
        element("p", words(f"{ended}{spent(report.usage, report.cost, report.unpriced)}"), class_="spent")
    )
    found = report.summary or report.ranking or report.claims
    title = [element("h2", "Minutes")] if found else []
    return element("section", *title, *parts, class_="minutes" if found else "ending") + "\n"


def _summary(summary: Summary | None, chip: Chip) -> Iterator[str]:
    if summary is None:
        return
    cross = summary.cross_model
    yield element("p", words(summary.overview), class_="overview")
    columns = [
        element("div", element("h3", title), listed([words(one) for one in told]), class_=kind)
        for title, told, kind in (
            ("Agreed", cross.agreements, "agreed"),
            ("Disputed", cross.disagreements, "disputed"),
        )
        if told
    ]
    if columns:
        yield element("div", *columns, class_="columns")
    if cross.convergence_summary:
        yield element("p", words(cross.convergence_summary))
    head = "".join(element("th", title, scope="col") for title in ("", "At first", "In the end", "Position"))
    rows = [
        element(
            "tr",
            element("th", chip(row.participant), scope="row"),
            element("td", words(row.initial_summary)),
            element("td", words(row.refined_summary)),
            element("td", words(changed(row)), class_=changed(row).replace(" ", "-")),
        )
        for row in summary.per_model
    ]
    yield element("table", element("thead", element("tr", head)), element("tbody", *rows))


def _missing(report: Report, chip: Chip) -> Iterator[str]:
    failed = [f"{chip(lane.participant)}: {words(lane.error)}" for lane in report.lanes if lane.error]
    if failed:
        yield element("h3", "Without an answer")
        yield listed(failed, class_="missing")


def _ranking(ranking: Ranking | None, chip: Chip) -> Iterator[str]:
    if ranking is None or not ranking.places:
        return
    yield element("h3", "Ranking")
    yield element("p", "By the others, who were not told whose answer was whose.", class_="note")
    rows = [
        element(
            "tr",
            element("td", f"{number}."),
            element("th", chip(place.participant), scope="row"),
            element("td", words(points(place))),
        )
        for number, place in placed(ranking)
    ]
    yield element("table", element("tbody", *rows), class_="ranking")


def _flips(flips: Sequence[Flip], chip: Chip) -> Iterator[str]:
    if not flips:
        return
    yield element("h3", "Changes of mind")
    told = []
    for flip in flips:
        after = f" after an argument of {chip(flip.because_of)}" if flip.because_of else ""
        went = f"{chip(flip.participant)} went from “{words(flip.before)}” to “{words(flip.after)}”{after}"
        told.append(went + _quote(flip.quote, flip.message))
    yield listed(told, class_="flips")


def _claims(claims: Sequence[Claim], chip: Chip) -> Iterator[str]:
    if not claims:
        return
    yield element("h3", "Claims")
    told = []
    for claim in claims:
        minority = " " + element("span", "minority", class_="minority") if claim.minority else ""
        voices = [*_voices("for", claim.supporters, chip), *_voices("against", claim.opponents, chip)]
        told.append(element("strong", words(claim.claim)) + minority + listed(voices, class_="voices"))
    yield listed(told, "ol", class_="claims")


def _voices(side: str, voices: Sequence[Voice], chip: Chip) -> Iterator[str]:
    for voice in voices:
        sign = element("span", side, class_=side)
        yield f"{sign} {chip(voice.participant)}{_quote(voice.quote, voice.message)}"


def _quote(quote: str, message: str) -> str:
    """Give a quote, which leads to the answer that it is from."""
    return " " + element("q", element("a", words(quote), href=f"#{message}"))


def _decisions(decisions: Sequence[Decided], names: Mapping[str, str]) -> Iterator[str]:
    if not decisions:
        return
    spoken = {USER: "The person has the word.", END: "It is over."}
    told = [
        words(f"{spoken.get(one.next) or f'{names[one.next]} has the word.'} {one.reason}")
        for one in decisions
    ]
    summary = element("summary", "How the director decided")
    yield element("details", summary, listed(told, "ol"), class_="decisions")
