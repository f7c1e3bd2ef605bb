"""Cost forecast of a run: a dry run lists the model calls that the run would make, and these are grouped and priced.

Pure, without I/O; a callback returns the prices. It is an estimate: it assumes answers of default length that differ, no
truncated prompts, and no cost limit.
"""

from collections.abc import Callable, Coroutine, Sequence

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.turns.runner import TurnOptions
from moot.engine.turns.structured_output import with_schema_prompt
from moot.engine.turns.token_estimates import PROMPT_CHARS_CEILING, estimate_usage
from moot.modes import program_for_plan
from moot.modes.table import BuildInstructions, T
from moot.prompts.builder import build_model_request
from moot.prompts.parts import AttachmentsByMessage
from moot.prompts.tasks.task import BuildTask
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import CallPurpose, sum_costs
from moot.types.chunks import Usage
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import AnalysisResult, NoticeKind, TurnKey, TurnStatus
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

ANSWER_TOKENS = 600  # default length of an answer without `max_tokens`
# Length of an answer in later prompts. A higher `max_tokens` is for reasoning, which others do not read.
MAX_ANSWER_TOKENS = 4000
ANALYSIS_ROW_TOKENS = 200  # of a debate report, per participant
VERDICT_TOKENS = 100  # of a ranking, an agreement check or a choice of speaker

ComputeCost = Callable[[str, Usage], float | None]

DRY_RUN_ID = "dry_run"
EMPTY_MESSAGE = Message(id=DRY_RUN_ID, discussion="", run=DRY_RUN_ID, role="user", content="")


class PlannedCall(Struct, frozen=True):
    purpose: CallPurpose
    participant: str | None  # None for a call on behalf of the whole table
    model: str
    input: int  # tokens
    output: int  # tokens


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


def simulate_calls(
    plan: RunPlan,
    message: Message | None,
    earlier: Sequence[Message],
    attachments: AttachmentsByMessage | None = None,
) -> Sequence[PlannedCall]:
    """List the model calls of a run; without a `message`, of a run that continues the discussion.

    `attachments`, by message id, may be placeholders of the same size as the files.
    """
    table = DryRun(plan, [*earlier, replace(message, run=DRY_RUN_ID)] if message else earlier, attachments or {})
    for _ in program_for_plan(plan)(table).__await__():
        raise AssertionError("a mode awaits only table methods, and these never suspend")
    return table.calls


class DryRun:
    """A `Table` that records calls and adds placeholder messages. Analyses return no result."""

    revision = 0
    run = DRY_RUN_ID

    def __init__(self, plan: RunPlan, messages: Sequence[Message], attachments: AttachmentsByMessage) -> None:
        self.plan = plan
        self.calls: list[PlannedCall] = []
        self.messages = list(messages)
        self._attachments = attachments

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """No-op, as there are no clients."""

    async def speak(
        self,
        participant: Participant,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = everything,
        instruction: str = "",
        build_instructions: BuildInstructions | None = None,
        with_actions: bool = False,
    ) -> TurnStatus:
        options = TurnOptions(
            view=view, instructions=instruction, build_instructions=build_instructions, with_actions=with_actions
        )
        self.messages += self._simulate_turn(TurnKey(participant.id, stage, round), options)
        return "completed"

    async def all_speak(
        self,
        stage: str = "answer",
        *,
        round: int = 0,
        view: View = blind,
        participants: Sequence[Participant] | None = None,
        build_instructions: BuildInstructions | None = None,
        lane_status: LaneStatus | None = None,
    ) -> dict[str, TurnStatus]:
        speaking = self.plan.responding_participants if participants is None else participants
        options = TurnOptions(view=view, build_instructions=build_instructions, lane_status=lane_status)
        # The messages are added afterwards, because concurrent turns do not see each other.
        turns = [self._simulate_turn(TurnKey(one.id, stage, round), options) for one in speaking]
        self.messages += [message for turn in turns for message in turn]
        return {one.id: "completed" for one in speaking}

    async def one_speaks(
        self,
        candidates: Sequence[Participant],
        stage: str,
        *,
        round: int = 0,
        view: View,
        build_instructions: BuildInstructions,
        role: MessageRole,
    ) -> TurnStatus:
        options = TurnOptions(view=view, build_instructions=build_instructions, role=role)
        self.messages += self._simulate_turn(TurnKey(candidates[0].id, stage, round), options)
        return "completed"

    async def run_analysis(
        self,
        purpose: CallPurpose,
        participant: Participant,
        build_task: BuildTask,
        *,
        round: int = 0,  # noqa: ARG002
    ) -> None:
        task = build_task(self.messages, DRY_RUN_ID, PROMPT_CHARS_CEILING)
        request = replace(task.request, system=with_schema_prompt(task.request.system, task.answer_type))
        input_tokens = estimate_usage(request, 0, self._characters_per_token(participant)).input
        report_tokens = max(ANSWER_TOKENS, ANALYSIS_ROW_TOKENS * len(self.plan.responding_participants))
        output_tokens = VERDICT_TOKENS if purpose in {"agreement", "ranking", "director"} else report_tokens
        caller = participant.id if purpose == "ranking" else None  # other analyses are for the whole table
        self.calls.append(PlannedCall(purpose, caller, participant.model, input_tokens, output_tokens))

    async def record_result(self, result: AnalysisResult) -> None:
        """No-op, as analyses return no result here."""

    async def complete_lanes(self, participants: Sequence[Participant], kind: NoticeKind, message: str) -> None:
        """No-op, as there are no lanes."""

    async def send_notice(self, kind: NoticeKind, message: str) -> None:
        """No-op, as there are no clients."""

    async def can_afford(
        self,
        label: str,  # noqa: ARG002
        participants: Sequence[Participant],  # noqa: ARG002
        build_instructions: BuildInstructions | None = None,  # noqa: ARG002
        *,
        view: View = everything,  # noqa: ARG002
        reserve_for: BuildInstructions | None = None,  # noqa: ARG002
    ) -> bool:
        return True

    async def run_concurrently(self, *coroutines: Coroutine[None, None, T]) -> Sequence[T]:
        return [await one for one in coroutines]

    def _simulate_turn(self, turn_key: TurnKey, options: TurnOptions) -> list[Message]:
        """Record the call, and return its messages: the instructions, if any, and a placeholder answer."""
        participant = self.plan.find_participant(turn_key.participant)
        thread = participant.id if options.lane_status is not None else None
        blank = replace(EMPTY_MESSAGE, stage=turn_key.stage, round=turn_key.round, thread=thread)
        turn: list[Message] = []
        if options.build_instructions is not None:
            instructions = options.build_instructions(self.messages, DRY_RUN_ID, participant.id, PROMPT_CHARS_CEILING)
            turn.append(replace(blank, content=instructions, visible_to=(participant.id,), hidden=True))
        visible = options.view([*self.messages, *turn], participant.id, DRY_RUN_ID)
        request = build_model_request(self.plan, participant, visible, options.instructions, self._attachments)
        output_tokens = participant.max_tokens or ANSWER_TOKENS
        purpose: CallPurpose = "synthesis" if turn_key.stage == "synthesis" else "answer"
        characters_per_token = self._characters_per_token(participant)
        input_tokens = estimate_usage(request, 0, characters_per_token).input
        self.calls.append(PlannedCall(purpose, participant.id, participant.model, input_tokens, output_tokens))
        text = "x" * int(characters_per_token * min(output_tokens, MAX_ANSWER_TOKENS))
        answer = replace(blank, role=options.role, content=text, participant=participant.id, name=participant.name)
        return [*turn, answer]

    def _characters_per_token(self, participant: Participant) -> float:
        return self.plan.limits_for_model(participant.model).characters_per_token
