"""Executes one turn of the stateless endpoint and emits its events."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial

import msgspec

from moot.engine import telemetry
from moot.engine.runs.ephemeral import Relay
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.structured_output import inquired
from moot.engine.waits import patiently
from moot.prompts.tasks.director import ask, by_rules, fallback
from moot.providers.registry import Resolved
from moot.services.model_tasks import Errands
from moot.services.stateless_request import Lesson
from moot.store.billing.charges import pay
from moot.store.database import Database
from moot.streaming.cancellation import Stop, stopped
from moot.streaming.lesson_turn import Act
from moot.types import stateless as wire
from moot.types.action_docs import line_for
from moot.types.actions import WHITEBOARD, name_of, params_of
from moot.types.billing import Charge, Payer
from moot.types.errors import MootError
from moot.types.events import ActionDropped, ActionTaken, Decided, Event, Seat, TextDelta, TurnEnded
from moot.types.modes import END, PREVIEW, STAGE, USER
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.stateless import ChatEvent, CueUser, DirectorState, Done, Error, Thinking


class Telling:
    def __init__(self, who: Participant) -> None:
        self._who = who
        self._message = new_id("msg")
        self._preview = ""
        self._acted = 0
        self._drawn: list[wire.Drawn] = []

    def begun(self) -> list[ChatEvent]:
        start = wire.AgentStart(
            message_id=self._message,
            agent_id=self._who.id,
            agent_name=self._who.name,
            agent_avatar=self._who.avatar,
            agent_color=self._who.colour,
        )
        return [wire.Thinking(stage="agent_loading", agent_id=self._who.id), start]

    def told(self, events: Sequence[Event]) -> list[ChatEvent]:
        """Tell what readers of a lesson are told; the rest is for those who watch a run."""
        return [told for event in events if (told := self._told(event)) is not None]

    def ended(self) -> wire.AgentEnd:
        return wire.AgentEnd(message_id=self._message, agent_id=self._who.id)

    def done(self, state: DirectorState) -> wire.Done:
        """Say what the turn came to, and how the lesson stands after it."""
        response = wire.AgentResponse(
            agent_id=self._who.id,
            agent_name=self._who.name,
            content_preview=self._preview,
            action_count=self._acted,
            whiteboard_actions=tuple(self._drawn),
        )
        after = DirectorState(
            turn_count=state.turn_count + 1,
            agent_responses=(*state.agent_responses, response),
            whiteboard_ledger=(*state.whiteboard_ledger, *self._drawn),
        )
        return wire.Done(
            total_actions=self._acted,
            total_agents=1,
            agent_had_content=bool(self._preview.strip()) or self._acted > 0,
            director_state=after,
        )

    def _told(self, event: Event) -> ChatEvent | None:
        match event:
            case TextDelta(text=text):
                self._preview = (self._preview + text)[:PREVIEW]
                return wire.TextEvent(content=text, message_id=self._message)
            case ActionTaken(id=id, action=action):
                return self._took(id, name_of(action), params_of(action))
            case ActionDropped(name=name, reason=reason):
                return wire.DroppedEvent(
                    action_name=name, reason=reason, agent_id=self._who.id, message_id=self._message
                )
        return None

    def _took(self, id: str, name: str, params: dict[str, object]) -> wire.ActionEvent:
        self._acted += 1
        if name in WHITEBOARD:
            self._drawn.append(
                wire.Drawn(action_name=name, agent_id=self._who.id, agent_name=self._who.name, params=params)
            )
        return wire.ActionEvent(
            action_id=id, action_name=name, params=params, agent_id=self._who.id, message_id=self._message
        )


INTERRUPTED = "Request interrupted"
MISTAKE = "A mistake in Moot itself ended this turn; the server's log says more."

Chains = Mapping[str, Sequence[Resolved]]  # who is asked, by the model that is wanted
log = logging.getLogger(__name__)


class Stateless:
    """All turns that are being taken in this process."""

    def __init__(self, database: Database, speaker: Speaker, errands: Errands) -> None:
        self._database = database
        self._speaker = speaker
        self._errands = errands
        self._taking: dict[asyncio.Task[None], Stop] = {}

    def __len__(self) -> int:
        return len(self._taking)

    async def turn(
        self, lesson: Lesson, chains: Chains, payer: Payer | None
    ) -> AsyncGenerator[list[ChatEvent], None]:
        """Take one turn, and yield what is told of it; an empty list is: still here. Without a payer nobody is charged."""
        relay, stop = Relay[ChatEvent](), Stop()
        turn = Turn(lesson, chains, self._speaker, stop, relay)
        task = asyncio.create_task(self._take(turn, payer, relay))
        self._taking[task] = stop
        task.add_done_callback(partial(self._taken, relay))
        try:
            async with aclosing(relay.read()) as told:
                async for some in told:
                    yield some
        finally:
            stop.request()

    async def close(self) -> None:
        """Interrupt all turns; what was said is paid, and whoever reads is told."""
        await stopped(self._taking)

    async def _take(self, turn: "Turn", payer: Payer | None, relay: Relay[ChatEvent]) -> None:
        try:
            async with self._within_budget(payer):
                await turn.take()
                if payer is not None and turn.charges:
                    await patiently(lambda: pay(self._database, payer, *turn.charges))
        except (
            MootError
        ) as error:  # others have spent the rest of the budget meanwhile, or the database is away
            await relay.tell([Error(message=str(error))])
        await relay.end()

    def _taken(self, relay: Relay[ChatEvent], task: asyncio.Task[None]) -> None:
        del self._taking[task]
        relay.close()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a turn without a state could not be paid", exc_info=error)

    def _within_budget(self, payer: Payer | None) -> AbstractAsyncContextManager[None]:
        if payer is None or payer.account is None:
            return nullcontext()
        return self._errands.within_budget(payer.account)


class Turn:
    """One turn while it is taken; `charges` are what it has cost until now."""

    def __init__(
        self, lesson: Lesson, chains: Chains, speaker: Speaker, stop: Stop, relay: Relay[ChatEvent]
    ) -> None:
        self.charges: list[Charge] = []
        self._lesson = lesson
        self._chains = chains
        self._speaker = speaker
        self._stop = stop
        self._relay = relay

    async def take(self) -> None:
        """Take the turn. It always ends with `done` or `error`."""
        try:
            await self._tell(Thinking(stage="director"))
            decision = await self._decision()
            if decision.next in {USER, END}:
                await self._end(decision)
            else:
                await self._spoken(self._lesson.plan.participant(decision.next))
        except Exception:
            # A mistake of ours must not leave a client without an end; here, and only here, it becomes an event.
            log.exception("a turn without a state failed")
            await self._tell(Error(message=MISTAKE))

    async def _decision(self) -> Decided:
        """Let the rules decide; where they leave a choice, one small question to a model does."""
        floor = self._lesson.floor
        if (decided := by_rules(floor)) is not None:
            return decided
        inquiry = ask(floor)
        chain = self._chains[self._lesson.director]
        answer = await inquired(self._speaker, chain, inquiry, self._stop)
        self.charges.append(
            Charge(purpose="director", model=answer.model, usage=answer.usage, cost=answer.cost)
        )
        found = inquiry.found(answer.value) if answer.value is not None else None
        return found if isinstance(found, Decided) else fallback(floor)

    async def _end(self, decision: Decided) -> None:
        """Say that nobody speaks now; a user who is cued may be told why."""
        if decision.next == USER:
            last = self._lesson.responses[-1].agent_id if self._lesson.responses else None
            await self._tell(
                CueUser(from_agent_id=last, prompt=decision.reason if decision.by == "model" else None)
            )
        state = self._lesson.state
        await self._tell(Done(total_actions=0, total_agents=0, agent_had_content=False, director_state=state))

    async def _spoken(self, who: Participant) -> None:
        telling = Telling(who)
        await self._tell(*telling.begun())
        ended = await self._speak(who, telling)
        telemetry.count_turn(ended)
        self.charges.append(Charge(purpose="answer", model=ended.model, usage=ended.usage, cost=ended.cost))
        await self._tell(telling.ended())
        if ended.status == "stopped":
            await self._tell(Error(message=INTERRUPTED))
            return
        if ended.fault is not None:
            await self._tell(Error(message=ended.fault.message))
        await self._tell(telling.done(self._lesson.state))

    async def _speak(self, who: Participant, telling: Telling) -> TurnEnded:
        async def emit(events: list[Event]) -> None:
            if told := telling.told(events):
                await self._relay.tell(told)

        request = msgspec.structs.replace(self._lesson.request(who), array_of=line_for(who.role))
        act_of = partial(Act, who.role, self._lesson.board)
        return await self._speaker.speak(
            Seat(who.id, STAGE), self._chains[who.model], request, self._stop, emit, act_of=act_of
        )

    async def _tell(self, *events: ChatEvent) -> None:
        await self._relay.tell(list(events))
