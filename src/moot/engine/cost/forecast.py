"""What a run will cost, before it starts: the calls of its rehearsal, added up and priced.

Pure: prices are asked for through a function. Nobody knows how long an answer will be, so it is a guess.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from moot.engine.cost.dry_run import PlannedCall, simulate_calls
from moot.prompts.parts import AttachmentsByMessage
from moot.types.billing import CallPurpose, sum_costs
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.run_plan import RunPlan

ComputeCost = Callable[[str, Usage], float | None]


class ForecastLine(Struct, frozen=True, kw_only=True):
    """Calls of one kind: what they are for, of which model, and of whom at the table, if of anybody.

    Tokens and cost are those of all of them; the cost is None where nobody knows the price.
    """

    purpose: CallPurpose
    participant: str | None
    model: str
    calls: int
    input: int
    output: int
    cost: float | None


class Forecast(Struct, frozen=True, kw_only=True):
    """What a run will cost about, in US dollars; `unknown` are models whose price nobody knows: they count 0."""

    lines: tuple[ForecastLine, ...]
    calls: int
    input: int
    output: int
    cost: float
    unknown: tuple[str, ...]


def forecast_cost(
    plan: RunPlan,
    message: Message | None,
    earlier: Sequence[Message],
    compute_cost: ComputeCost,
    attachments: AttachmentsByMessage | None = None,
) -> Forecast:
    """Add up the calls of a run that answers a message, or nobody, after all that was said earlier."""
    grouped: dict[tuple[CallPurpose, str | None, str], list[PlannedCall]] = {}
    for call in simulate_calls(plan, message, earlier, attachments):
        grouped.setdefault((call.purpose, call.participant, call.model), []).append(call)
    lines = tuple(_forecast_line(calls, compute_cost) for calls in grouped.values())
    return Forecast(
        lines=lines,
        calls=sum(line.calls for line in lines),
        input=sum(line.input for line in lines),
        output=sum(line.output for line in lines),
        cost=sum(line.cost or 0.0 for line in lines),
        unknown=tuple(dict.fromkeys(line.model for line in lines if line.cost is None)),
    )


def _forecast_line(calls: Sequence[PlannedCall], compute_cost: ComputeCost) -> ForecastLine:
    return ForecastLine(
        purpose=calls[0].purpose,
        participant=calls[0].participant,
        model=calls[0].model,
        calls=len(calls),
        input=sum(call.input for call in calls),
        output=sum(call.output for call in calls),
        cost=sum_costs(compute_cost(call.model, Usage(call.input, call.output)) for call in calls),
    )
