"""What a run used, in words: tokens, cost and times of each participant, and what the minutes took."""

from collections.abc import Mapping, Sequence

from moot.types.billing import LEAST, Charge, dollars, total
from moot.types.chunks import Usage
from moot.types.events import (
    FINDINGS,
    Agreed,
    BallotCast,
    Decided,
    Event,
    Finding,
    LedgerMade,
    Notice,
    SummaryMade,
    TurnEnded,
)
from moot.types.participants import Participant

# What a model is asked beside the turns, by what that was for; a ranking is counted and asks nobody.
PURPOSES: Mapping[type[Finding], str] = {
    Agreed: "Gate",
    SummaryMade: "Summary",
    LedgerMade: "Ledger",
    BallotCast: "Ranking",
    Decided: "Director",
}


Call = TurnEnded | Finding | Charge


def paid(event: Event) -> Finding | Charge | None:
    """Find what an event tells of that was paid beside the turns: something found, or looked for in vain."""
    if isinstance(event, Notice):
        return event.charge
    return event if isinstance(event, FINDINGS) else None


def usage_lines(
    participants: Sequence[Participant],
    turns: Sequence[TurnEnded],
    minutes: Sequence[Finding | Charge] = (),
) -> list[str]:
    """Write tokens, cost and times, one line a participant, in the order of asking; then what the minutes took."""
    spoken = {who.id: [turn for turn in turns if turn.participant == who.id] for who in participants}
    names = {who.id: f"{who.name} · " if len(participants) > 1 else "" for who in participants}
    lines = [names[who] + _usage_line(ended) for who, ended in spoken.items() if ended]
    asked = [one for one in minutes if _purpose(one)]
    grouped = {name: [one for one in asked if _purpose(one) == name] for name in PURPOSES.values()}
    lines += [
        f"{name} · {_models(calls)}: {', '.join(_counted('calls', calls))}"
        for name, calls in grouped.items()
        if calls
    ]
    if asked:
        lines.append(f"In all: {', '.join(_counted('calls', [*turns, *asked]))}")
    return lines


def _purpose(call: Finding | Charge) -> str | None:
    if isinstance(call, Charge):
        return call.purpose.capitalize()
    if isinstance(call, Decided) and call.by == "rules":
        return None
    return PURPOSES.get(type(call))


def cost_words(calls: Sequence[Call], about: str = "") -> str:
    cost = total(call.cost for call in calls)
    if cost is None:
        return "cost unknown"
    return (about if cost >= LEAST else "") + dollars(cost)


def _usage_line(turns: Sequence[TurnEnded]) -> str:
    parts = _counted("turns", turns)
    first = next((turn.first_token for turn in turns if turn.first_token is not None), None)
    parts.append("no first token" if first is None else f"first token {first:.2f} s")
    parts.append(f"{sum(turn.latency for turn in turns):.2f} s in all")
    return f"{_models(turns)}: {', '.join(parts)}"


def _counted(what: str, calls: Sequence[Call]) -> list[str]:
    """Take several calls as one."""
    usage = sum((call.usage for call in calls), Usage())
    about = "about " if usage.estimated else ""
    parts = [f"{len(calls)} {what}"] if len(calls) > 1 else []
    parts += [f"{about}{usage.input} in", f"{about}{usage.output} out"]
    if usage.reasoning:
        parts.append(f"{usage.reasoning} of them reasoning")
    if usage.cached:
        parts.append(f"{usage.cached} cached")
    return [*parts, cost_words(calls, about)]


def _models(calls: Sequence[Call]) -> str:
    return ", ".join(dict.fromkeys(call.model for call in calls))
