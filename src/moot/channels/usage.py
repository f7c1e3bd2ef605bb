"""What a run used, in words: tokens, cost and times of each participant, and what the minutes took."""

from collections.abc import Mapping, Sequence

from moot.model.chunks import Usage
from moot.model.events import Agreed, BallotCast, Finding, LedgerMade, SummaryMade, TurnEnded
from moot.model.money import LEAST, dollars, total
from moot.model.participants import Participant

# What a model is asked about a debate, by what that was for; a ranking is counted and asks nobody.
PURPOSES: Mapping[type[Finding], str] = {
    Agreed: "Gate",
    SummaryMade: "Summary",
    LedgerMade: "Ledger",
    BallotCast: "Ranking",
}


def usage_lines(
    participants: Sequence[Participant], turns: Sequence[TurnEnded], found: Sequence[Finding] = ()
) -> list[str]:
    """Write tokens, cost and times, one line a participant, in the order of asking; then what the minutes took."""
    spoken = {who.id: [turn for turn in turns if turn.participant == who.id] for who in participants}
    names = {who.id: f"{who.name} · " if len(participants) > 1 else "" for who in participants}
    lines = [names[who] + _usage_line(ended) for who, ended in spoken.items() if ended]
    asked = [one for one in found if type(one) in PURPOSES]
    for kind, purpose in PURPOSES.items():
        if calls := [one for one in asked if isinstance(one, kind)]:
            lines.append(f"{purpose} · {_models(calls)}: {', '.join(_counted('calls', calls))}")
    if asked:
        lines.append(f"In all: {', '.join(_counted('calls', [*turns, *asked]))}")
    return lines


def cost_words(calls: Sequence[TurnEnded | Finding], about: str = "") -> str:
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


def _counted(what: str, calls: Sequence[TurnEnded | Finding]) -> list[str]:
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


def _models(calls: Sequence[TurnEnded | Finding]) -> str:
    return ", ".join(dict.fromkeys(call.model for call in calls))
