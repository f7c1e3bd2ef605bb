"""Stateless endpoint: executes one turn of a lesson and streams its events. The client keeps the state."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial

import msgspec

from moot.engine import telemetry
from moot.engine.runs.ephemeral import MemoryStream
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.structured_output import complete_analysis
from moot.prompts.tasks.director import decide_by_rules, director_task, fallback_decision
from moot.providers.registry import ResolvedModel
from moot.services.model_tasks import ModelTasks
from moot.services.stateless_request import Lesson
from moot.streaming.cancellation import StopSignal, stop_tasks
from moot.streaming.lesson_turn import LessonTurnParser
from moot.types import stateless as wire
from moot.types.action_docs import lesson_item_schema
from moot.types.actions import WHITEBOARD_ACTIONS, get_action_name, get_action_params
from moot.types.billing import Charge, Payer
from moot.types.errors import MootError
from moot.types.events import ActionRejected, ActionTaken, Event, SpeakerSelected, TextDelta, TurnEnded, TurnKey
from moot.types.modes import LESSON_ENDS, LESSON_STAGE, PREVIEW_CHARACTERS, USER_SPEAKS_NEXT
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.stateless import ChatEvent, CueUser, DirectorState, Done, Error, Thinking
from moot.types.streams import BatchStream


class StatelessEvents:
    """Converts the events of one turn to wire events, and collects the state after it."""

    def __init__(self, participant: Participant) -> None:
        self._participant = participant
        self._message = new_id("msg")
        self._preview = ""
        self._action_count = 0
        self._whiteboard_actions: list[wire.WhiteboardAction] = []

    def start_events(self) -> list[ChatEvent]:
        start = wire.AgentStart(
            message_id=self._message,
            agent_id=self._participant.id,
            agent_name=self._participant.name,
            agent_avatar=self._participant.avatar,
            agent_color=self._participant.colour,
        )
        return [wire.Thinking(stage="agent_loading", agent_id=self._participant.id), start]

    def convert_events(self, events: Sequence[Event]) -> list[ChatEvent]:
        """Convert a batch; events without a wire format are dropped."""
        return [wire_event for event in events if (wire_event := self._convert_event(event)) is not None]

    def end_event(self) -> wire.AgentEnd:
        return wire.AgentEnd(message_id=self._message, agent_id=self._participant.id)

    def final_event(self, state: DirectorState) -> wire.Done:
        response = wire.AgentResponse(
            agent_id=self._participant.id,
            agent_name=self._participant.name,
            content_preview=self._preview,
            action_count=self._action_count,
            whiteboard_actions=tuple(self._whiteboard_actions),
        )
        new_state = DirectorState(
            turn_count=state.turn_count + 1,
            agent_responses=(*state.agent_responses, response),
            whiteboard_ledger=(*state.whiteboard_ledger, *self._whiteboard_actions),
        )
        return wire.Done(
            total_actions=self._action_count,
            total_agents=1,
            agent_had_content=bool(self._preview.strip()) or self._action_count > 0,
            director_state=new_state,
        )

    def _convert_event(self, event: Event) -> ChatEvent | None:
        match event:
            case TextDelta(text=text):
                self._preview = (self._preview + text)[:PREVIEW_CHARACTERS]
                return wire.TextEvent(content=text, message_id=self._message)
            case ActionTaken(id=id, action=action):
                return self._action_event(id, get_action_name(action), get_action_params(action))
            case ActionRejected(name=name, reason=reason):
                return wire.DroppedEvent(
                    action_name=name, reason=reason, agent_id=self._participant.id, message_id=self._message
                )
        return None

    def _action_event(self, id: str, name: str, params: dict[str, object]) -> wire.ActionEvent:
        self._action_count += 1
        if name in WHITEBOARD_ACTIONS:
            self._whiteboard_actions.append(
                wire.WhiteboardAction(
                    action_name=name,
                    agent_id=self._participant.id,
                    agent_name=self._participant.name,
                    params=params,
                )
            )
        return wire.ActionEvent(
            action_id=id,
            action_name=name,
            params=params,
            agent_id=self._participant.id,
            message_id=self._message,
        )


INTERRUPTED_MESSAGE = "Request interrupted"
INTERNAL_ERROR_MESSAGE = "An internal error ended this turn. The server log has the details."

ChainsByModel = Mapping[str, Sequence[ResolvedModel]]  # the requested model and its fallbacks
log = logging.getLogger(__name__)


class StatelessService:
    """Runs stateless turns, and stops the running ones on shutdown."""

    def __init__(self, model_caller: ModelCaller, model_tasks: ModelTasks) -> None:
        self._model_caller = model_caller
        self._model_tasks = model_tasks
        self._running: dict[asyncio.Task[None], StopSignal] = {}

    def __len__(self) -> int:
        return len(self._running)

    async def stream_turn(self, lesson: Lesson, chains: ChainsByModel, payer: Payer | None) -> BatchStream[ChatEvent]:
        """Run one turn and yield its events.

        If the client disconnects, the turn stops. `payer` None charges nothing.
        """
        relay, stop = MemoryStream[ChatEvent](), StopSignal()
        turn = StatelessTurn(lesson, chains, self._model_caller, stop, relay)
        task = asyncio.create_task(self._run_turn(turn, payer, relay))
        self._running[task] = stop
        task.add_done_callback(partial(self._on_turn_done, relay))
        try:
            async with aclosing(relay.receive_batches()) as batches:
                async for batch in batches:
                    yield batch
        finally:
            stop.request_stop()

    async def close(self) -> None:
        """Stop all turns. Their charges are recorded, and clients receive an error event."""
        await stop_tasks(self._running)

    async def _run_turn(self, turn: "StatelessTurn", payer: Payer | None, relay: MemoryStream[ChatEvent]) -> None:
        try:
            async with self._within_budget(payer):
                await turn.run_turn()
                if payer is not None and turn.charges:
                    await self._model_tasks.record_charges(payer, *turn.charges)
        except MootError as error:
            # Another request spent the rest of the budget meanwhile, or the database is unavailable.
            await relay.send_batch([Error(message=str(error))])
        await relay.send_end()

    def _on_turn_done(self, relay: MemoryStream[ChatEvent], task: asyncio.Task[None]) -> None:
        del self._running[task]
        relay.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("stateless turn: recording the charge failed", exc_info=error)

    def _within_budget(self, payer: Payer | None) -> AbstractAsyncContextManager[None]:
        if payer is None or payer.account is None:
            return nullcontext()
        return self._model_tasks.within_budget(payer.account)


class StatelessTurn:
    """One turn in progress."""

    def __init__(
        self,
        lesson: Lesson,
        chains: ChainsByModel,
        model_caller: ModelCaller,
        stop: StopSignal,
        relay: MemoryStream[ChatEvent],
    ) -> None:
        self.charges: list[Charge] = []  # of the calls so far, also if the turn fails
        self._lesson = lesson
        self._chains = chains
        self._model_caller = model_caller
        self._stop = stop
        self._relay = relay

    async def run_turn(self) -> None:
        """Run the turn. The last event is always `done` or `error`."""
        try:
            await self._send_events(Thinking(stage="director"))
            decision = await self._decide_next()
            if decision.next in {USER_SPEAKS_NEXT, LESSON_ENDS}:
                await self._end_without_turn(decision)
            else:
                await self._run_participant(self._lesson.plan.find_participant(decision.next))
        except Exception:
            # A bug must not leave the client without a last event.
            log.exception("stateless turn failed")
            await self._send_events(Error(message=INTERNAL_ERROR_MESSAGE))

    async def _decide_next(self) -> SpeakerSelected:
        """Select the next speaker by rules, then by the director model, then by a default."""
        context = self._lesson.director_context
        if (decided := decide_by_rules(context)) is not None:
            return decided
        task = director_task(context)
        chain = self._chains[self._lesson.director]
        answer = await complete_analysis(self._model_caller, chain, task, self._stop)
        self.charges.append(
            Charge(purpose="director", model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd)
        )
        result = task.to_result(answer.value) if answer.value is not None else None
        return result if isinstance(result, SpeakerSelected) else fallback_decision(context)

    async def _end_without_turn(self, decision: SpeakerSelected) -> None:
        """End the turn without a speaker. Only a reason by the director model is sent to the user."""
        if decision.next == USER_SPEAKS_NEXT:
            last = self._lesson.responses[-1].agent_id if self._lesson.responses else None
            await self._send_events(
                CueUser(from_agent_id=last, prompt=decision.reason if decision.decided_by == "model" else None)
            )
        state = self._lesson.state
        await self._send_events(Done(total_actions=0, total_agents=0, agent_had_content=False, director_state=state))

    async def _run_participant(self, participant: Participant) -> None:
        stateless_events = StatelessEvents(participant)
        await self._send_events(*stateless_events.start_events())
        ended = await self._call_model(participant, stateless_events)
        telemetry.count_turn(ended)
        self.charges.append(Charge(purpose="answer", model=ended.model, usage=ended.usage, cost_usd=ended.cost_usd))
        await self._send_events(stateless_events.end_event())
        if ended.status == "stopped":
            await self._send_events(Error(message=INTERRUPTED_MESSAGE))
            return
        if ended.fault is not None:
            await self._send_events(Error(message=ended.fault.message))
        await self._send_events(stateless_events.final_event(self._lesson.state))

    async def _call_model(self, participant: Participant, stateless_events: StatelessEvents) -> TurnEnded:
        async def emit(events: list[Event]) -> None:
            if batch := stateless_events.convert_events(events):
                await self._relay.send_batch(batch)

        request = msgspec.structs.replace(
            self._lesson.build_request(participant), array_of=lesson_item_schema(participant.role)
        )
        new_parser = partial(LessonTurnParser, participant.role, self._lesson.board)
        return await self._model_caller.call(
            TurnKey(participant.id, LESSON_STAGE),
            self._chains[participant.model],
            request,
            self._stop,
            emit,
            new_lesson_parser=new_parser,
        )

    async def _send_events(self, *events: ChatEvent) -> None:
        await self._relay.send_batch(list(events))
