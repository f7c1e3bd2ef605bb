"""Turns of lessons whose state is with the client: the director decides, one agent speaks, and nothing is kept.

A turn goes on as long as somebody reads it. Whoever leaves stops it, and what was said until then is paid.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, nullcontext
from functools import partial

import msgspec

from moot.context.directing import ask, by_rules, fallback
from moot.context.stateless import Lesson
from moot.engine import metrics
from moot.engine.errands import Errands
from moot.engine.patience import patiently
from moot.engine.relay import Relay
from moot.engine.speaker import Speaker
from moot.engine.structured import inquired
from moot.engine.telling import Telling
from moot.model.directed import END, STAGE, USER
from moot.model.errors import MootError
from moot.model.events import Decided, Event, Seat, TurnEnded
from moot.model.manual import line_for
from moot.model.money import Charge, Payer
from moot.model.participants import Participant
from moot.model.stateless import ChatEvent, CueUser, Done, Error, Thinking
from moot.providers.registry import Resolved
from moot.store.charges import pay
from moot.store.database import Database
from moot.streams.act import Act
from moot.streams.stop import Stop, stopped

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
        metrics.count_turn(ended)
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
