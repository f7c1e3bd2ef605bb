"""What a run used, in words: tokens, cost and times of each participant."""

from collections.abc import Sequence

from msgspec.structs import replace

from moot.model.chunks import Usage
from moot.model.events import TurnEnded
from moot.model.participants import Participant


def usage_lines(participants: Sequence[Participant], turns: Sequence[TurnEnded]) -> list[str]:
    """Write tokens, cost and times, one line a participant, in the order of asking."""
    spoken = {who.id: [turn for turn in turns if turn.participant == who.id] for who in participants}
    names = {who.id: f"{who.name} · " if len(participants) > 1 else "" for who in participants}
    return [names[who] + _usage_line(ended) for who, ended in spoken.items() if ended]


def _usage_line(turns: Sequence[TurnEnded]) -> str:
    turn = _summed(turns)
    usage = turn.usage
    about = "about " if usage.estimated else ""
    parts = [f"{len(turns)} turns"] if len(turns) > 1 else []
    parts += [f"{about}{usage.input} in", f"{about}{usage.output} out"]
    if usage.reasoning:
        parts.append(f"{usage.reasoning} of them reasoning")
    if usage.cached:
        parts.append(f"{usage.cached} cached")
    parts.append(_cost(turn.cost, about))
    parts.append("no first token" if turn.first_token is None else f"first token {turn.first_token:.2f} s")
    parts.append(f"{turn.latency:.2f} s in all")
    return f"{turn.model}: {', '.join(parts)}"


def _summed(turns: Sequence[TurnEnded]) -> TurnEnded:
    """Take several turns of one participant as one: a cost that is not known makes the sum unknown."""
    costs = [turn.cost for turn in turns if turn.cost is not None]
    return replace(
        turns[0],
        model=", ".join(dict.fromkeys(turn.model for turn in turns)),
        usage=sum((turn.usage for turn in turns), Usage()),
        cost=sum(costs) if len(costs) == len(turns) else None,
        first_token=next((turn.first_token for turn in turns if turn.first_token is not None), None),
        latency=sum(turn.latency for turn in turns),
    )


def _cost(dollars: float | None, about: str) -> str:
    if dollars is None:
        return "cost unknown"
    if 0 < dollars < 0.000001:
        return "less than $0.000001"
    return (about if dollars else "") + f"${dollars:.6f}".rstrip("0").rstrip(".")
