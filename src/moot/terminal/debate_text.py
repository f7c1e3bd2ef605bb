"""Debate report as plain text: one labelled value per line."""

from collections.abc import Iterator, Mapping, Sequence

from moot.terminal.usage import cost_text
from moot.transcript.debate_report import (
    describe_dropped_quotes,
    number_ranks,
    points_text,
    position_change_text,
    position_status,
)
from moot.types.debate import ClaimQuote, DebateClaims, DebateSummary, Ranking
from moot.types.events import ANSWERED_STATUSES
from moot.types.run_state import RunState


def is_debate(run: RunState) -> bool:
    return any(one.stage == "initial" for one in run.stages)


def has_debate_report(run: RunState) -> bool:
    """False before the first answer, and outside a debate."""
    return is_debate(run) and any(turn.status in ANSWERED_STATUSES for turn in run.ended_turns)


def debate_report_lines(run: RunState) -> list[str]:
    """Return the lines of all parts. An empty line follows each part."""
    parts: list[Iterator[str]] = []
    if run.summary is not None:
        parts += [_summary_lines(run.summary), _position_lines(run.summary, run.names)]
    if run.ranking is not None:
        parts.append(_ranking_lines(run.ranking, run.names))
    if run.claims is not None:
        parts += [_position_change_lines(run.claims, run.names), _claim_lines(run.claims, run.names)]
    parts.append(iter([f"Cost: {cost_text(run.paid_calls)}"]))
    rendered = [list(part) for part in parts]
    return [line for part in rendered if part for line in (*part, "")]


def _summary_lines(summary: DebateSummary) -> Iterator[str]:
    yield _format_line("Overview", summary.overview)
    for point in summary.cross_model.agreements:
        yield _format_line("Agreement", point)
    for point in summary.cross_model.disagreements:
        yield _format_line("Disagreement", point)
    if summary.cross_model.convergence_summary:
        yield _format_line("Convergence", summary.cross_model.convergence_summary)


def _position_lines(summary: DebateSummary, names: Mapping[str, str]) -> Iterator[str]:
    for row in summary.per_model:
        label, status = f"Position of {names[row.participant]}", position_status(row)
        if status == "no answer":
            yield f"{label}: {status}"
            continue
        yield _format_line(f"{label}, first", row.initial_summary)
        yield _format_line(f"{label}, last ({status})", row.refined_summary)


def _ranking_lines(ranking: Ranking, names: Mapping[str, str]) -> Iterator[str]:
    for number, place in number_ranks(ranking):
        yield f"Rank {number}: {names[place.participant]}, {points_text(place)}"


def _position_change_lines(claims: DebateClaims, names: Mapping[str, str]) -> Iterator[str]:
    for change in claims.flips:
        yield _format_line("Flip", position_change_text(change, names))
        yield _format_line("Flip", f'{names[change.participant]}: "{change.quote}"')


def _claim_lines(claims: DebateClaims, names: Mapping[str, str]) -> Iterator[str]:
    for number, claim in enumerate(claims.claims, start=1):
        minority = " (minority)" if claim.minority else ""
        yield _format_line(f"Claim {number}{minority}", claim.claim)
        yield from _quote_lines(f"Claim {number}, for", claim.supporters, names)
        yield from _quote_lines(f"Claim {number}, against", claim.opponents, names)
    if claims.unproven:
        yield describe_dropped_quotes(claims)


def _quote_lines(label: str, quotes: Sequence[ClaimQuote], names: Mapping[str, str]) -> Iterator[str]:
    for quote in quotes:
        yield _format_line(label, f'{names[quote.participant]}: "{quote.quote}"')


def _format_line(label: str, text: str) -> str:
    return f"{label}: {' '.join(text.split())}"
