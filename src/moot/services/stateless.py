"""The stateless endpoint: one turn of a lesson, whose client keeps the state.

`parse_lesson` reads the state of the client, `StatelessTurn` runs a turn of it in memory, and `stream_chat_events`
converts the events of the turn. Actions in the state that cannot be parsed are dropped, not rejected.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.runs.ephemeral import RecordCharges, RunLog
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.structured_output import complete_analysis
from moot.prompts.builder import build_model_request
from moot.prompts.lesson import render_lesson_state
from moot.prompts.tasks.director import (
    DirectorContext,
    DirectorMessage,
    TurnPreview,
    decide_by_rules,
    director_task,
    fallback_decision,
)
from moot.prompts.visibility import lesson_view
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import LessonTurnParser, encode_lesson_items
from moot.types import stateless as wire
from moot.types.action_docs import lesson_item_schema
from moot.types.actions import WHITEBOARD_ACTIONS, Action, get_action_name, get_action_params, parse_action
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.errors import InvalidAction, MootError, UsageError
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Event,
    RunStarted,
    SpeakerSelected,
    TextDelta,
    TurnEnded,
    TurnKey,
)
from moot.types.modes import (
    LESSON_ENDS,
    LESSON_STAGE,
    MAX_LESSON_TURNS,
    PREVIEW_CHARACTERS,
    USER_SPEAKS_NEXT,
    DirectedOptions,
)
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan
from moot.types.streams import BatchStream
from moot.whiteboard.state import Board, RecordedAction, replay_actions

OTHER_ACTION = "other"  # placeholder: the state has no names of actions off the board
MAX_OTHER_ACTIONS = 100  # placeholders per turn
INTERRUPTED_MESSAGE = "Request interrupted"
INTERNAL_ERROR_MESSAGE = "An internal error ended this turn. The server log has the details."
log = logging.getLogger(__name__)


class Lesson(Struct, frozen=True, kw_only=True):
    """State of a lesson before a turn."""

    plan: RunPlan
    director: str  # model that selects the next speaker if the rules do not
    messages: tuple[Message, ...]
    state: wire.DirectorState
    board: Board

    @property
    def responses(self) -> Sequence[wire.AgentResponse]:
        """The turns since the user's last message, by the client's `turn_count`."""
        counted = min(self.state.turn_count, MAX_LESSON_TURNS)
        return self.state.agent_responses[-counted:] if counted else ()

    @property
    def director_context(self) -> DirectorContext:
        spoken = [m for m in self.messages if m.content.strip()]
        return DirectorContext(
            participants=self.plan.participants,
            max_turns=self.plan.directed.turns,
            turn=self.state.turn_count,
            previous_turns=tuple(map(_director_turn, self.responses)),
            messages=tuple(map(_director_message, spoken)),
            trigger=self.plan.directed.first_speaker,
            topic=self.plan.directed.topic,
            board=self.board,
        )

    def build_request(self, participant: Participant) -> ModelRequest:
        peers = [
            (one.agent_name, one.content_preview)
            for one in self.responses
            if one.agent_id != participant.id and one.content_preview
        ]
        names = {one.id: one.name for one in self.plan.participants}
        view = lesson_view(self.messages, participant.id, "")
        instructions = render_lesson_state(self.board, peers, names)
        request = build_model_request(self.plan, participant, view, instructions)
        return replace(request, array_of=lesson_item_schema(participant.role))


def parse_lesson(request: wire.ChatRequest) -> Lesson:
    """Raises UsageError if no agent matches `agentIds`, or if an agent has a reserved id."""
    config, state = request.config, request.director_state or wire.DirectorState()
    known = {agent.id: agent for agent in config.agents}
    present = [known[id] for id in dict.fromkeys(config.agent_ids) if id in known]
    if not present:
        raise UsageError("config.agents: none of them is in agentIds. Add the agents that take part.")
    if {USER_SPEAKS_NEXT, LESSON_ENDS} & known.keys():
        raise UsageError(
            f"config.agents: no agent can have the id {USER_SPEAKS_NEXT} or {LESSON_ENDS}. Choose another id."
        )
    drawn = _parse_whiteboard_actions(state.whiteboard_ledger)
    return Lesson(
        plan=RunPlan(
            mode="directed",
            participants=tuple(_parse_participant(agent, request.model) for agent in present),
            personas={agent.id: agent.persona for agent in present if agent.persona},
            language=request.store_state.language,
            directed=DirectedOptions(
                turns=config.max_turns, first_speaker=config.trigger_agent_id, topic=config.discussion_topic
            ),
        ),
        director=request.model,
        messages=tuple(_parse_message(one, known) for one in request.messages),
        state=replace(
            state,
            agent_responses=tuple(map(_keep_valid_actions, state.agent_responses)),
            whiteboard_ledger=tuple(one for one, _ in drawn),
        ),
        board=replay_actions(RecordedAction(participant=one.agent_id, action=action) for one, action in drawn),
    )


def _parse_participant(agent: wire.Agent, model: str) -> Participant:
    return Participant(
        id=agent.id,
        name=agent.name,
        model=agent.model or model,
        role=agent.role,
        priority=agent.priority,
        colour=agent.color,
        avatar=agent.avatar,
    )


def _parse_message(one: wire.StatelessMessage, agents: dict[str, wire.Agent]) -> Message:
    agent = agents.get(one.agent_id or "")
    parsed = (part.content if part.type == "text" else _parse_action(part.name, part.params) for part in one.parts)
    lines = [line for line in parsed if line is not None]
    return Message(
        id="",
        discussion="",
        role=one.role,
        content=one.content or " ".join(line for line in lines if isinstance(line, str)),
        participant=one.agent_id if one.role == "assistant" else None,
        name=agent.name if agent and one.role == "assistant" else None,
        status="interrupted" if one.interrupted else "completed",
        lesson_items=encode_lesson_items(lines) if lines else None,
    )


def _parse_action(name: str, params: wire.Params) -> Action | None:
    """Parse an action; None if it is invalid."""
    try:
        # "teacher" may use every action. The role of the agent at that time is not in the state.
        return parse_action(name, params, "teacher")
    except InvalidAction:
        return None


def _parse_whiteboard_actions(actions: Iterable[wire.WhiteboardAction]) -> list[tuple[wire.WhiteboardAction, Action]]:
    """Return the valid actions, without unknown parameters."""
    return [
        (replace(one, params=get_action_params(action)), action)
        for one in actions
        if (action := _parse_action(one.action_name, one.params)) is not None
    ]


def _keep_valid_actions(response: wire.AgentResponse) -> wire.AgentResponse:
    actions = _parse_whiteboard_actions(response.whiteboard_actions)
    return replace(response, whiteboard_actions=tuple(one for one, _ in actions))


def _director_message(message: Message) -> DirectorMessage:
    if message.role == "user":
        return DirectorMessage("The user", message.content, is_person=True)
    return DirectorMessage(message.name or "A former participant", message.content)


def _director_turn(response: wire.AgentResponse) -> TurnPreview:
    drawn = [action.action_name for action in response.whiteboard_actions]
    others = [OTHER_ACTION] * min(response.action_count - len(drawn), MAX_OTHER_ACTIONS)
    return TurnPreview(
        participant=response.agent_id,
        name=response.agent_name,
        preview=response.content_preview[:PREVIEW_CHARACTERS],
        actions=(*drawn, *others),
    )


class StatelessTurn(Struct, frozen=True):
    """The next turn of a lesson, as a run for `EphemeralRuns`."""

    lesson: Lesson
    chains: Mapping[str, Sequence[ResolvedModel]]  # by requested model: the model and its fallbacks

    async def execute(
        self, run_log: RunLog, model_caller: ModelCaller, stop: StopSignal, *, record_charges: RecordCharges
    ) -> None:
        """Charges are recorded after the last event, and also after an error."""
        charges: list[Charge] = []
        try:
            await run_log.append_events([RunStarted(participants=self.lesson.plan.participants)])
            decision = await self._select_speaker(model_caller, stop, charges)
            await run_log.append_events([decision])
            if decision.next not in {USER_SPEAKS_NEXT, LESSON_ENDS}:
                who = self.lesson.plan.find_participant(decision.next)
                ended = await model_caller.call(
                    TurnKey(who.id, LESSON_STAGE),
                    self.chains[who.model],
                    self.lesson.build_request(who),
                    stop,
                    run_log.append_events,
                    new_lesson_parser=partial(LessonTurnParser, who.role, self.lesson.board),
                )
                telemetry.count_turn(ended)
                charges.append(Charge(purpose="answer", model=ended.model, usage=ended.usage, cost_usd=ended.cost_usd))
                await run_log.append_events([ended])
        finally:
            if charges:
                await record_charges(charges)

    async def _select_speaker(
        self, model_caller: ModelCaller, stop: StopSignal, charges: list[Charge]
    ) -> SpeakerSelected:
        """Select the next speaker by rules, then by the director model, then by a default."""
        context = self.lesson.director_context
        if (decided := decide_by_rules(context)) is not None:
            return decided
        task = director_task(context)
        answer = await complete_analysis(model_caller, self.chains[self.lesson.director], task, stop)
        charges.append(Charge(purpose="director", model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd))
        result = task.to_result(answer.value) if answer.value is not None else None
        return result if isinstance(result, SpeakerSelected) else fallback_decision(context)


async def stream_chat_events(lesson: Lesson, events: BatchStream[Event]) -> BatchStream[wire.ChatEvent]:
    """Convert the events of a turn. There is always a `done` or an `error`."""
    chat_events = ChatEvents(lesson)
    try:
        async with aclosing(events):
            async for batch in events:
                yield chat_events.convert_events(batch)
    except MootError as error:
        # Another request spent the rest of the budget meanwhile, or the database is unavailable.
        yield [wire.Error(message=str(error))]
    except Exception:
        # A bug must not leave the client without a last event.
        log.exception("stateless turn failed")
        if not chat_events.is_complete:
            yield [wire.Error(message=INTERNAL_ERROR_MESSAGE)]


class ChatEvents:
    """Converts the events of one turn to wire events, and collects the state after it."""

    def __init__(self, lesson: Lesson) -> None:
        self.is_complete = False  # the last event was converted
        self._lesson = lesson
        self._message = new_id("msg")
        self._preview = ""
        self._action_count = 0
        self._whiteboard_actions: list[wire.WhiteboardAction] = []

    def convert_events(self, events: Iterable[Event]) -> list[wire.ChatEvent]:
        """Convert a batch; events without a wire format are dropped."""
        return [chat_event for event in events for chat_event in self._convert_event(event)]

    def _convert_event(self, event: Event) -> Iterator[wire.ChatEvent]:
        match event:
            case RunStarted():
                yield wire.Thinking(stage="director")
            case SpeakerSelected(next=speaker) if speaker in {USER_SPEAKS_NEXT, LESSON_ENDS}:
                yield from self._end_without_turn(event)
            case SpeakerSelected(next=speaker):
                yield wire.Thinking(stage="agent_loading", agent_id=speaker)
                who = self._lesson.plan.find_participant(speaker)
                yield wire.AgentStart(
                    message_id=self._message,
                    agent_id=who.id,
                    agent_name=who.name,
                    agent_avatar=who.avatar,
                    agent_color=who.colour,
                )
            case TextDelta(text=text):
                self._preview = (self._preview + text)[:PREVIEW_CHARACTERS]
                yield wire.TextEvent(content=text, message_id=self._message)
            case ActionTaken():
                yield self._action_event(event)
            case ActionRejected(name=name, reason=reason, participant=agent):
                yield wire.DroppedEvent(action_name=name, reason=reason, agent_id=agent, message_id=self._message)
            case TurnEnded():
                yield from self._end_turn(event)

    def _end_without_turn(self, decision: SpeakerSelected) -> Iterator[wire.ChatEvent]:
        """Only a reason by the director model is sent to the user."""
        if decision.next == USER_SPEAKS_NEXT:
            last = self._lesson.responses[-1].agent_id if self._lesson.responses else None
            prompt = decision.reason if decision.decided_by == "model" else None
            yield wire.CueUser(from_agent_id=last, prompt=prompt)
        self.is_complete = True
        yield wire.Done(total_actions=0, total_agents=0, agent_had_content=False, director_state=self._lesson.state)

    def _action_event(self, event: ActionTaken) -> wire.ActionEvent:
        name, params, agent = get_action_name(event.action), get_action_params(event.action), event.participant
        self._action_count += 1
        if name in WHITEBOARD_ACTIONS:
            agent_name = self._lesson.plan.find_participant(agent).name
            self._whiteboard_actions.append(
                wire.WhiteboardAction(action_name=name, agent_id=agent, agent_name=agent_name, params=params)
            )
        return wire.ActionEvent(
            action_id=event.id, action_name=name, params=params, agent_id=agent, message_id=self._message
        )

    def _end_turn(self, ended: TurnEnded) -> Iterator[wire.ChatEvent]:
        self.is_complete = True
        yield wire.AgentEnd(message_id=self._message, agent_id=ended.participant)
        if ended.status == "stopped":
            yield wire.Error(message=INTERRUPTED_MESSAGE)
            return
        if ended.fault is not None:
            yield wire.Error(message=ended.fault.message)
        yield wire.Done(
            total_actions=self._action_count,
            total_agents=1,
            agent_had_content=bool(self._preview.strip()) or self._action_count > 0,
            director_state=self._state_after(self._lesson.plan.find_participant(ended.participant)),
        )

    def _state_after(self, participant: Participant) -> wire.DirectorState:
        state, actions = self._lesson.state, tuple(self._whiteboard_actions)
        response = wire.AgentResponse(
            agent_id=participant.id,
            agent_name=participant.name,
            content_preview=self._preview,
            action_count=self._action_count,
            whiteboard_actions=actions,
        )
        return wire.DirectorState(
            turn_count=state.turn_count + 1,
            agent_responses=(*state.agent_responses, response),
            whiteboard_ledger=(*state.whiteboard_ledger, *actions),
        )
