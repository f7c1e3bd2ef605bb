"""Cost forecast of a run: the calls of its dry run, grouped and priced.

Pure, without I/O; a callback returns the prices. It is an estimate, because the length of an answer is unknown.
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
    """The calls with the same purpose, model and participant, added up."""

    purpose: CallPurpose
    participant: str | None  # None for calls on behalf of the whole table
    model: str
    calls: int
    input: int  # tokens
    output: int  # tokens
    cost_usd: float | None  # US dollars; None if the price is unknown


class Forecast(Struct, frozen=True, kw_only=True):
    lines: tuple[ForecastLine, ...]
    calls: int
    input: int  # tokens
    output: int  # tokens
    cost_usd: float  # US dollars, without the models in `unpriced_models`
    unpriced_models: tuple[str, ...]  # models without a known price


def forecast_cost(
    plan: RunPlan,
    message: Message | None,
    earlier: Sequence[Message],
    compute_cost: ComputeCost,
    attachments: AttachmentsByMessage | None = None,
) -> Forecast:
    """Arguments as for `simulate_calls`; `compute_cost` returns None for an unknown price."""
    grouped: dict[tuple[CallPurpose, str | None, str], list[PlannedCall]] = {}
    for call in simulate_calls(plan, message, earlier, attachments):
        grouped.setdefault((call.purpose, call.participant, call.model), []).append(call)
    lines = tuple(_forecast_line(calls, compute_cost) for calls in grouped.values())
    return Forecast(
        lines=lines,
        calls=sum(line.calls for line in lines),
        input=sum(line.input for line in lines),
        output=sum(line.output for line in lines),
        cost_usd=sum(line.cost_usd or 0.0 for line in lines),
        unpriced_models=tuple(dict.fromkeys(line.model for line in lines if line.cost_usd is None)),
    )


def _forecast_line(calls: Sequence[PlannedCall], compute_cost: ComputeCost) -> ForecastLine:
    return ForecastLine(
        purpose=calls[0].purpose,
        participant=calls[0].participant,
        model=calls[0].model,
        calls=len(calls),
        input=sum(call.input for call in calls),
        output=sum(call.output for call in calls),
        cost_usd=sum_costs(compute_cost(call.model, Usage(call.input, call.output)) for call in calls),
    )
