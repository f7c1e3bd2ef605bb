"""A rehearsal: a mode is played with nobody being asked, to see which calls it makes and how much they read.

Pure. What is sent is written as in a real run in which everybody answers at the usual length, the answers differ,
nothing has to be shortened for a model, and all can be afforded.
"""

from collections.abc import Coroutine, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from moot.engine.turns.context import TurnOptions
from moot.engine.turns.token_estimates import PROMPT_CHARS_CEILING, estimate_usage
from moot.modes import mode_for_plan
from moot.modes.table import BuildInstructions, T
from moot.prompts.builder import build_model_request
from moot.prompts.parts import AttachmentsByMessage
from moot.prompts.tasks.task import AnalysisTask, BuildTask
from moot.prompts.templates import load_template
from moot.prompts.visibility import View, blind, everything
from moot.types.billing import CallPurpose
from moot.types.debate import LaneStatus
from moot.types.discussions import Message, MessageRole
from moot.types.events import AnalysisResult, NoticeKind, TurnKey, TurnStatus
from moot.types.json_schema import struct_schema
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan

ANSWER_TOKENS = 600  # tokens of an answer, where its participant has no `max_tokens`
MAX_ANSWER_TOKENS = (
    4000  # of an answer that others read: a higher limit is for thoughts, and here would only make work
)
ANALYSIS_ROW_TOKENS = 200  # of minutes, for each participant
VERDICT_TOKENS = 100  # of a ranking, or of a look at whether the answers agree

DRY_RUN_ID = "rehearsed"
EMPTY_MESSAGE = Message(id=DRY_RUN_ID, discussion="", run=DRY_RUN_ID, role="user", content="")


class PlannedCall(Struct, frozen=True):
    purpose: CallPurpose
    participant: str | None
    model: str
    input: int
    output: int


def simulate_calls(
    plan: RunPlan,
    message: Message | None,
    earlier: Sequence[Message],
    attachments: AttachmentsByMessage | None = None,
) -> Sequence[PlannedCall]:
    """List the calls of a run that answers a message, or nobody, after all that was said earlier.

    `attached` are files, or something of their size, by the message they came with.
    """
    table = DryRun(
        plan, [*earlier, replace(message, run=DRY_RUN_ID)] if message else earlier, attachments or {}
    )
    for _ in mode_for_plan(plan)(table).__await__():
        raise AssertionError("a mode waits for nothing but the table, and here it need not wait")
    return table.calls


class DryRun:
    """The table of a rehearsal. What is said at it grows as in a real run; what is looked for is never found."""

    revision = 0
    run = DRY_RUN_ID

    def __init__(self, plan: RunPlan, messages: Sequence[Message], attachments: AttachmentsByMessage) -> None:
        self.plan = plan
        self.calls: list[PlannedCall] = []
        self.messages = list(messages)
        self._attachments = attachments

    async def open_stage(self, stage: str, round: int = 0) -> None:
        """Nobody watches."""

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
        manner = TurnOptions(
            view=view,
            instruction=instruction,
            build_instructions=build_instructions,
            with_actions=with_actions,
        )
        self.messages += self._simulate_turn(TurnKey(participant.id, stage, round), manner)
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
        manner = TurnOptions(view=view, build_instructions=build_instructions, lane_status=lane_status)
        turns = [self._simulate_turn(TurnKey(one.id, stage, round), manner) for one in speaking]
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
        manner = TurnOptions(view=view, build_instructions=build_instructions, role=role)
        self.messages += self._simulate_turn(TurnKey(candidates[0].id, stage, round), manner)
        return "completed"

    async def run_analysis(
        self,
        purpose: CallPurpose,
        participant: Participant,
        build_task: BuildTask,
        *,
        round: int = 0,  # noqa: ARG002
    ) -> None:
        reads = estimate_usage(
            _with_schema(build_task(self.messages, DRY_RUN_ID, PROMPT_CHARS_CEILING)),
            0,
            self._characters_per_token(participant),
        ).input
        minutes = max(ANSWER_TOKENS, ANALYSIS_ROW_TOKENS * len(self.plan.responding_participants))
        says = VERDICT_TOKENS if purpose in {"gate", "ranking", "director"} else minutes
        asked = participant.id if purpose == "ranking" else None  # all else is found out for the whole table
        self.calls.append(PlannedCall(purpose, asked, participant.model, reads, says))

    async def record_result(self, result: AnalysisResult) -> None:
        """Nothing follows: nothing was found."""

    async def complete_lanes(
        self, participants: Sequence[Participant], kind: NoticeKind, message: str
    ) -> None:
        """Nobody watches."""

    async def send_notice(self, kind: NoticeKind, message: str) -> None:
        """Nobody watches."""

    async def can_afford(
        self,
        label: str,  # noqa: ARG002 - whatever it is
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
        """Count what somebody reads, and return what the turn adds to what was said: a brief, if any, and an answer."""
        who = self.plan.find_participant(turn_key.participant)
        thread = who.id if options.lane_status is not None else None
        blank = replace(EMPTY_MESSAGE, stage=turn_key.stage, round=turn_key.round, thread=thread)
        turn: list[Message] = []
        if options.build_instructions is not None:
            told = options.build_instructions(self.messages, DRY_RUN_ID, who.id, PROMPT_CHARS_CEILING)
            turn.append(replace(blank, content=told, audience=(who.id,), hidden=True))
        seen = options.view([*self.messages, *turn], who.id, DRY_RUN_ID)
        request = build_model_request(self.plan, who, seen, options.instruction, self._attachments)
        says = who.max_tokens or ANSWER_TOKENS
        purpose: CallPurpose = "synthesis" if turn_key.stage == "synthesis" else "answer"
        reads = estimate_usage(request, 0, self._characters_per_token(who)).input
        self.calls.append(PlannedCall(purpose, who.id, who.model, reads, says))
        words = "x" * int(self._characters_per_token(who) * min(says, MAX_ANSWER_TOKENS))
        answer = replace(blank, role=options.role, content=words, participant=who.id, name=who.name)
        return [*turn, answer]

    def _characters_per_token(self, participant: Participant) -> float:
        return self.plan.limits_for_model(participant.model).characters_per_token


def _with_schema(task: AnalysisTask) -> ModelRequest:
    """Add the form in which an answer is wanted: it is read, too."""
    form = msgspec.json.encode(struct_schema(task.answer_type)).decode()
    told = load_template("answer_in_json").replace("{schema}", form)
    return replace(task.request, system=f"{task.request.system}\n\n{told}")
