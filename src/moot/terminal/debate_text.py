"""The minutes of a debate as plain text: one fact a line, each with a label before it."""

from collections.abc import Iterator, Mapping, Sequence

from moot.terminal.debate_findings import Findings
from moot.transcript.debate_report import changed, flip_words, placed, points, unproven
from moot.types.debate import Ledger, Ranking, Summary, Voice


def minutes(found: Findings) -> list[str]:
    """Write out what was found, in parts with an empty line after each."""
    parts: list[Iterator[str]] = []
    if found.summary is not None:
        parts += [_summary(found.summary), _positions(found.summary, found.names)]
    if found.ranking is not None:
        parts.append(_ranking(found.ranking, found.names))
    if found.ledger is not None:
        parts += [_flips(found.ledger, found.names), _claims(found.ledger, found.names)]
    parts.append(iter([f"Cost: {found.cost}"]))
    written = [list(part) for part in parts]
    return [line for part in written if part for line in (*part, "")]


def _summary(summary: Summary) -> Iterator[str]:
    yield _line("Overview", summary.overview)
    for point in summary.cross_model.agreements:
        yield _line("Agreement", point)
    for point in summary.cross_model.disagreements:
        yield _line("Disagreement", point)
    if summary.cross_model.convergence_summary:
        yield _line("Convergence", summary.cross_model.convergence_summary)


def _positions(summary: Summary, names: Mapping[str, str]) -> Iterator[str]:
    for row in summary.per_model:
        who, stands = f"Position of {names[row.participant]}", changed(row)
        if stands == "no answer":
            yield f"{who}: {stands}"
            continue
        yield _line(f"{who}, first", row.initial_summary)
        yield _line(f"{who}, last ({stands})", row.refined_summary)


def _ranking(ranking: Ranking, names: Mapping[str, str]) -> Iterator[str]:
    for number, place in placed(ranking):
        yield f"Rank {number}: {names[place.participant]}, {points(place)}"


def _flips(ledger: Ledger, names: Mapping[str, str]) -> Iterator[str]:
    for flip in ledger.flips:
        yield _line("Flip", flip_words(flip, names))
        yield _line("Flip", f'{names[flip.participant]}: "{flip.quote}"')


def _claims(ledger: Ledger, names: Mapping[str, str]) -> Iterator[str]:
    for number, claim in enumerate(ledger.claims, start=1):
        minority = " (minority)" if claim.minority else ""
        yield _line(f"Claim {number}{minority}", claim.claim)
        yield from _voices(f"Claim {number}, for", claim.supporters, names)
        yield from _voices(f"Claim {number}, against", claim.opponents, names)
    if ledger.unproven:
        yield unproven(ledger)


def _voices(label: str, voices: Sequence[Voice], names: Mapping[str, str]) -> Iterator[str]:
    for voice in voices:
        yield _line(label, f'{names[voice.participant]}: "{voice.quote}"')


def _line(label: str, text: str) -> str:
    return f"{label}: {' '.join(text.split())}"
