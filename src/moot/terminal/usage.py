"""Usage of a run as text: tokens, cost and latency per participant and analysis task."""

from collections.abc import Mapping, Sequence

from moot.types.billing import SMALLEST_AMOUNT_USD, Charge, format_usd, sum_costs
from moot.types.chunks import Usage
from moot.types.events import (
    AgreementChecked,
    AnalysisResult,
    ClaimsExtracted,
    SpeakerSelected,
    SummaryMade,
    TurnEnded,
    VoteCast,
)
from moot.types.participants import Participant
from moot.types.run_state import PaidCall

# Model calls outside the turns. RankingMade is missing: it is computed from the votes, without a model call.
PURPOSE_LABELS: Mapping[type[AnalysisResult], str] = {
    AgreementChecked: "Agreement check",
    SummaryMade: "Summary",
    ClaimsExtracted: "Claims",
    VoteCast: "Ranking",
    SpeakerSelected: "Director",
}


def usage_lines(
    participants: Sequence[Participant], turns: Sequence[TurnEnded], analyses: Sequence[AnalysisResult | Charge] = ()
) -> list[str]:
    """Return one line per participant, in order, then one per analysis task and the total."""
    turns_by_id = {who.id: [turn for turn in turns if turn.participant == who.id] for who in participants}
    names = {who.id: f"{who.name} · " if len(participants) > 1 else "" for who in participants}
    lines = [names[who] + _usage_line(ended) for who, ended in turns_by_id.items() if ended]
    paid = [one for one in analyses if _purpose_label(one)]
    grouped = {name: [one for one in paid if _purpose_label(one) == name] for name in PURPOSE_LABELS.values()}
    lines += [
        f"{name} · {_model_names(calls)}: {', '.join(_usage_parts('calls', calls))}"
        for name, calls in grouped.items()
        if calls
    ]
    if paid:
        lines.append(f"In all: {', '.join(_usage_parts('calls', [*turns, *paid]))}")
    return lines


def _purpose_label(call: AnalysisResult | Charge) -> str | None:
    if isinstance(call, Charge):
        return call.purpose.capitalize()
    if isinstance(call, SpeakerSelected) and call.decided_by == "rules":
        return None
    return PURPOSE_LABELS.get(type(call))


def _usage_line(turns: Sequence[TurnEnded]) -> str:
    parts = _usage_parts("turns", turns)
    first = next((turn.first_token_seconds for turn in turns if turn.first_token_seconds is not None), None)
    parts.append("no first token" if first is None else f"first token {first:.2f} s")
    parts.append(f"{sum(turn.latency_seconds for turn in turns):.2f} s in all")
    return f"{_model_names(turns)}: {', '.join(parts)}"


def _usage_parts(unit: str, calls: Sequence[PaidCall]) -> list[str]:
    usage = sum((call.usage for call in calls), Usage())
    about = "about " if usage.estimated else ""
    parts = [f"{len(calls)} {unit}"] if len(calls) > 1 else []
    parts += [f"{about}{usage.input} in", f"{about}{usage.output} out"]
    if usage.reasoning:
        parts.append(f"{usage.reasoning} of them reasoning")
    if usage.cached:
        parts.append(f"{usage.cached} cached")
    cost = sum_costs(call.cost_usd for call in calls)
    if cost is None:
        return [*parts, "cost unknown"]
    return [*parts, (about if cost >= SMALLEST_AMOUNT_USD else "") + format_usd(cost)]


def _model_names(calls: Sequence[PaidCall]) -> str:
    return ", ".join(dict.fromkeys(call.model for call in calls))
