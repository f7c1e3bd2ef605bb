"""Debate report: the results of a run as sections of text, which each front end writes in its own format."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from moot.types.debate import DebateClaims, DebateSummary, Lane, ParticipantSummary, PositionChange, Ranking
from moot.types.events import AgreementChecked, SpeakerSelected
from moot.types.modes import LESSON_ENDS, USER_SPEAKS_NEXT

NO_CLAIMS = DebateClaims(claims=(), position_changes=())


class Span(Struct, frozen=True):
    kind: Literal["name", "quote", "mark"]  # a mark is a word with its own colour
    text: str
    id: str = ""  # of the named participant, or of the message that contains the quote


Line = tuple[str | Span, ...]


class Item(Struct, frozen=True):
    line: Line
    label: str = ""
    items: tuple["Item", ...] = ()


class Bullets(Struct, frozen=True):
    title: str
    items: tuple[Item, ...]
    folded: bool = False  # details that a page hides at first


class Table(Struct, frozen=True):
    head: tuple[str, ...]
    rows: tuple[Line, ...]  # one span per cell; the first is a name


class Paragraph(Struct, frozen=True):
    text: str
    kind: Literal["", "overview", "note", "total"] = ""
    label: str = ""  # for formats without headings


MakeName = Callable[[str], Span]  # from a participant id
Section = Sequence[Bullets | Table | Paragraph]


class Report(Struct, frozen=True):
    title: str  # empty for a run without results of a debate
    sections: tuple[Section, ...]


def build_report(
    names: Mapping[str, str],
    total: str,
    *,
    summary: DebateSummary | None = None,
    ranking: Ranking | None = None,
    claims: DebateClaims = NO_CLAIMS,
    agreement: AgreementChecked | None = None,
    lanes: Iterable[Lane] = (),
    decisions: Iterable[SpeakerSelected] = (),
) -> Report:
    """`names` are by participant id. `total` is the last paragraph: the usage of the run."""

    def name(id: str) -> Span:
        return Span("name", names[id], id)

    failed = (Item((name(lane.participant), f": {lane.error}")) for lane in lanes if lane.error)
    sections: tuple[Section, ...] = (
        [_agreement(agreement)] if agreement else [],
        [*_summary(summary)] if summary else [],
        [_positions(summary, name)] if summary else [],
        [Bullets("Without an answer", tuple(failed))],
        [*_ranking(ranking, name)] if ranking and ranking.answers else [],
        [Bullets("Position changes", tuple(_position_change(change, name) for change in claims.position_changes))],
        [*_claims(claims, name)],
        [Bullets("How the director decided", tuple(_decision(one, names) for one in decisions), folded=True)],
        [Paragraph(total, "total")],
    )
    filled = ([block for block in section if not isinstance(block, Bullets) or block.items] for section in sections)
    return Report("Report" if summary or ranking or claims.claims else "", tuple(filter(None, filled)))


def plain_text(line: Line) -> str:
    texts = (one if isinstance(one, str) else f"“{one.text}”" if one.kind == "quote" else one.text for one in line)
    return " ".join("".join(texts).split())


def labelled_lines(section: Section) -> Iterator[tuple[str, Line]]:
    """Return the lines for a format without headings. A label may be empty."""
    for block in section:
        match block:
            case Paragraph():
                yield block.label, (block.text,)
            case Bullets():
                for item in block.items:
                    label = item.label or block.title
                    yield label, item.line
                    yield from ((f"{label}, {inner.label}", inner.line) for inner in item.items)
            case Table():
                for name, *cells in block.rows:
                    labels = (f"{plain_text((name,))}, {title.lower()}" for title in block.head[1:])
                    yield from ((label, (cell,)) for label, cell in zip(labels, cells, strict=True) if cell)


def text_lines(report: Report) -> Iterator[str]:
    """Write the report as plain text: one labelled value per line, and an empty line after each section."""
    for section in report.sections:
        for label, line in labelled_lines(section):
            yield f"{label}: {plain_text(line)}" if label else plain_text(line)
        yield ""


def _agreement(agreement: AgreementChecked) -> Paragraph:
    return Paragraph(f"The first answers {'agree' if agreement.agree else 'do not agree'}. {agreement.reason}")


def _summary(summary: DebateSummary) -> Iterator[Bullets | Paragraph]:
    cross = summary.cross_model
    yield Paragraph(summary.overview, "overview", "Overview")
    for title, points in (("Agreed", cross.agreements), ("Disputed", cross.disagreements)):
        yield Bullets(title, tuple(Item((point,)) for point in points))
    if cross.convergence_summary:
        yield Paragraph(cross.convergence_summary, label="Convergence")


def _positions(summary: DebateSummary, name: MakeName) -> Table:
    rows = (
        (name(row.participant), row.initial_summary, row.refined_summary, _status(row)) for row in summary.per_model
    )
    return Table(("", "At first", "In the end", "Position"), tuple(rows))


def _status(row: ParticipantSummary) -> Span:
    answered = row.initial_summary or row.refined_summary
    return Span("mark", ("changed" if row.changed_position else "kept") if answered else "no answer")


def _ranking(ranking: Ranking, name: MakeName) -> Iterator[Bullets | Paragraph]:
    averages = [place.points / place.votes for place in ranking.answers]
    ranks = [averages.index(average) + 1 for average in averages]  # equal scores share a rank
    items = (
        Item(
            (name(place.participant), f", {_count(place.points, 'point')} in {_count(place.votes, 'vote')}"),
            f"Rank {rank}",
        )
        for rank, place in zip(ranks, ranking.answers, strict=True)
    )
    yield Bullets("Ranking", tuple(items))
    yield Paragraph("Ranked by blind votes of the other participants.", "note")


def _count(number: float, noun: str) -> str:
    return f"{number:g} {noun}{'' if number == 1 else 's'}"


def _position_change(change: PositionChange, name: MakeName) -> Item:
    reason = (" after an argument of ", name(change.because_of)) if change.because_of else ()
    text = f" went from “{change.before}” to “{change.after}”"
    return Item((name(change.participant), text, *reason, ": ", Span("quote", change.quote, change.message)))


def _claims(claims: DebateClaims, name: MakeName) -> Iterator[Bullets | Paragraph]:
    items = (
        Item(
            (claim.claim, *((" (", Span("mark", "minority"), ")") if claim.minority else ())),
            f"Claim {number}",
            tuple(
                Item((name(one.participant), ": ", Span("quote", one.quote, one.message)), side)
                for side, quotes in (("for", claim.supporters), ("against", claim.opponents))
                for one in quotes
            ),
        )
        for number, claim in enumerate(claims.claims, start=1)
    )
    yield Bullets("Claims", tuple(items))
    if claims.dropped_quotes:
        verb = "is" if claims.dropped_quotes == 1 else "are"
        yield Paragraph(f"Left out: {_count(claims.dropped_quotes, 'quote')} that {verb} in no answer", "note")


def _decision(decision: SpeakerSelected, names: Mapping[str, str]) -> Item:
    special = {USER_SPEAKS_NEXT: "The user speaks next.", LESSON_ENDS: "The lesson is over."}
    return Item((f"{special.get(decision.next) or f'{names[decision.next]} speaks next.'} {decision.reason}",))
