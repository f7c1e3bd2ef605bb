"""One turn: looked up if it was kept, else prepared, spoken and kept, whatever comes of it."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from moot.context.lesson import board_of
from moot.context.pieces import Attached
from moot.context.prompt import prompt
from moot.context.views import View, everything, shared
from moot.engine.estimate import estimate
from moot.engine.room import MOST, room
from moot.engine.speaker import ActOf, Speaker
from moot.model.chunks import Usage
from moot.model.debates import Lane, LaneStatus
from moot.model.discussions import Message, Role
from moot.model.errors import UsageError
from moot.model.events import (
    ANSWERED,
    ENDED_BY,
    Answer,
    Event,
    Finding,
    Notice,
    Prompted,
    Reason,
    Seat,
    TurnEnded,
    TurnStatus,
)
from moot.model.faults import fault
from moot.model.ids import new_id
from moot.model.manual import line_for
from moot.model.money import Charge, dollars
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.modes.table import Brief
from moot.providers.registry import Resolved
from moot.streams.act import Act
from moot.streams.stop import Stop

ChainOf = Callable[[Participant], Awaitable[Sequence[Resolved]]]

LATE = "It was too slow, and was not waited for. Try it again, or choose a faster model."


class Transcript(Protocol):
    """What was said and found until now, and the place where more is kept."""

    @property
    def said(self) -> Sequence[Message]: ...

    @property
    def found(self) -> Sequence[Finding]: ...

    @property
    def spent(self) -> float:
        """What the run has cost until now, whatever came of it, as far as prices are known."""
        ...

    def is_open(self, seat: Seat) -> bool:
        """Tell whether readers have seen something of a turn, and not its end."""
        ...

    async def append(self, events: list[Event]) -> None: ...

    async def keep(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        """Keep an event, what comes of it and what it cost, all or nothing; it is safe when this returns.

        What is returned is the number of the message, if there is one.
        """
        ...

    def forget(self, participant: str) -> None:
        """Forget the turns that somebody is to try again."""
        ...


class Scene(Struct, frozen=True, kw_only=True):
    """Which run this is, and what everybody at the table shares."""

    run: str
    discussion: str
    plan: Plan
    revision: int = 0
    attached: Attached = {}


class Manner(Struct, frozen=True, kw_only=True):
    """How somebody speaks: what is seen and told before, and as what the answer is kept.

    With `then` it is in a lane, a thread of one's own, and that is how far the lane has come with an answer. Whoever is
    `acting` answers with an array of speech and actions.
    """

    view: View = everything
    instruction: str = ""
    brief: Brief | None = None
    role: Role = "assistant"
    then: LaneStatus | None = None
    acting: bool = False


class Turns:
    def __init__(
        self, scene: Scene, transcript: Transcript, chain_of: ChainOf, speaker: Speaker, stop: Stop
    ) -> None:
        self.plan = scene.plan
        self.stops = {who.id: Stop(stop) for who in scene.plan.participants}
        self._scene = scene
        self._transcript = transcript
        self._chain_of = chain_of
        self._speaker = speaker
        self._stop = stop

    async def take(self, seat: Seat, manner: Manner) -> TurnStatus:
        if (done := self._kept(seat)) is not None:
            return done.status
        if (stopped := await self._not_begun(seat, manner)) is not None:
            return stopped
        who = self.plan.participant(seat.participant)
        try:
            chain = await self._chain_of(who)
        except UsageError as error:  # no key, say: this lane fails with words, the others go on
            return await self._keep(_refused(seat, who, error), manner, self._newest())
        brief = await self._brief(seat, manner, manner.brief, chain) if manner.brief else None
        if brief is not None and not manner.acting and (same := self._answer_to(brief, seat)) is not None:
            return same.status
        return await self._spoken(seat, who, manner, chain, brief)

    def forget(self, participant: str, plan: Plan) -> None:
        """Let somebody begin anew, perhaps with another model."""
        self.plan = plan
        self.stops[participant] = Stop(self._stop)
        self._transcript.forget(participant)

    def wait_again(self) -> None:
        """Let those speak in what comes next who were too slow for what came before."""
        for who, stop in self.stops.items():
            if stop.reason == "late":
                self.stops[who] = Stop(self._stop)

    async def likely_cost(self, who: Participant, brief: Brief | None, view: View = everything) -> float:
        """Guess what another turn of somebody would cost: what is read, and an answer as long as the longest."""
        said, run = self._transcript.said, self._scene.run
        told = brief(said, run, who.id, MOST) if brief else ""
        request = prompt(self.plan, who, view(said, who.id, run), told, self._scene.attached)
        longest = max((m.content for m in said if m.run == run and m.participant), key=len, default="")
        try:
            model = (await self._chain_of(who))[0]
        except UsageError:
            return 0.0  # it will not be asked
        usage = estimate(request, len(longest), self.plan.measure(who.model).characters_per_token)
        return await asyncio.to_thread(model.provider.cost, model.model, usage) or 0.0

    def _kept(self, seat: Seat) -> Message | None:
        """Find a turn that was kept before a crash: it is not asked, or paid, again."""
        name = (self._scene.run, seat.participant, seat.stage, seat.round)
        said = reversed(self._transcript.said)
        return next((m for m in said if (m.run, m.participant, m.stage, m.round) == name), None)

    async def _not_begun(self, seat: Seat, manner: Manner) -> TurnStatus | None:
        """Tell how a turn ends that is stopped before it begins: nothing of it is kept but that its lane failed."""
        if self._transcript.is_open(seat):
            return None
        await self._end_at_the_cap()
        reason = self.stops[seat.participant].reason
        if reason is None:
            return None
        if manner.then is not None:
            lane = Lane(participant=seat.participant, status="error", error=_stopped_words(reason))
            event = Notice(kind="missing", message=_stopped_words(reason), participant=seat.participant)
            await self._transcript.keep(event, lanes=[lane])
        return ENDED_BY[reason]

    async def _end_at_the_cap(self) -> None:
        cap, spent = self.plan.cap, self._transcript.spent
        if cap is not None and spent >= cap and self._stop.reason is None:
            words = f"The run has cost {dollars(spent)}, and its cap is {dollars(cap)}: it ends here."
            await self._transcript.append([Notice(kind="cap", message=words)])
            self._stop.request("over_cap")

    async def _brief(
        self, seat: Seat, manner: Manner, brief: Brief, chain: Sequence[Resolved]
    ) -> Message | None:
        """Write what somebody is to know first; None if it was told before a crash."""
        if any((m.stage, m.round) == (seat.stage, seat.round) for m in self._told(seat)):
            return None
        place = await asyncio.to_thread(room, chain)
        return Message(
            id=new_id("msg"),
            discussion=self._scene.discussion,
            run=self._scene.run,
            role="user",
            content=brief(self._transcript.said, self._scene.run, seat.participant, place),
            stage=seat.stage,
            round=seat.round,
            audience=(seat.participant,),
            thread=_thread(seat, manner),
            hidden=True,
            created_at=time.time(),
        )

    def _told(self, seat: Seat) -> list[Message]:
        run = self._scene.run
        return [
            m
            for m in self._transcript.said
            if m.run == run and m.hidden and m.audience == (seat.participant,)
        ]

    def _answer_to(self, brief: Message, seat: Seat) -> Message | None:
        """Find the answer that was given to the very same before."""
        for earlier in self._told(seat):
            if (earlier.stage, earlier.content) == (brief.stage, brief.content):
                answer = self._kept(Seat(seat.participant, seat.stage, earlier.round))
                if answer is not None and answer.status in ANSWERED:
                    return answer
        return None

    async def _spoken(
        self, seat: Seat, who: Participant, manner: Manner, chain: Sequence[Resolved], brief: Message | None
    ) -> TurnStatus:
        said = [*self._transcript.said, *([brief] if brief else [])]
        upto = self._newest()
        request = prompt(
            self.plan,
            who,
            manner.view(said, seat.participant, self._scene.run),
            manner.instruction,
            self._scene.attached,
        )
        act_of: ActOf | None = None
        if manner.acting:
            request = replace(request, array_of=line_for(who.role))
            act_of = partial(Act, who.role, board_of(shared(self._transcript.said, [who.id])))
        stop = self.stops[who.id]
        async with asyncio.TaskGroup() as beside:  # nobody waits for a brief to be written
            kept = beside.create_task(self._keep_brief(brief)) if brief else None
            await asyncio.sleep(0)  # but it is told before the turn begins
            ended = await self._speaker.speak(
                seat, chain, request, stop, self._transcript.append, self.plan.measure, act_of
            )
        if stop.reason == "late" and ended.status == "failed" and ended.fault is None:
            ended = replace(ended, fault=fault("timeout", LATE))
        return await self._keep(ended, manner, kept.result() if kept else upto)

    async def _keep_brief(self, brief: Message) -> int:
        """Keep what somebody was told, and return its number."""
        (who,) = brief.audience or ("",)
        event = Prompted(participant=who, stage=brief.stage or "", round=brief.round or 0, message=brief.id)
        return await self._transcript.keep(event, brief)

    def _newest(self) -> int:
        return max((max(one.number, one.revised) for one in self._transcript.said), default=0)

    async def _keep(self, ended: TurnEnded, manner: Manner, upto: int) -> TurnStatus:
        message = replace(
            turn_message(self._scene, ended),
            role=manner.role,
            thread=_thread(ended.seat, manner),
            view=manner.view.__name__,
            upto=upto,
            instruction=manner.instruction or None,
        )
        lanes = self._moved(ended, manner)
        await self._transcript.keep(ended, message, lanes=lanes, charges=[charge_of(ended)])
        return ended.status

    def _moved(self, ended: TurnEnded, manner: Manner) -> Sequence[Lane]:
        """Say how far a turn has brought its lane."""
        if manner.then is None:
            return ()
        who = ended.participant
        if ended.status in ANSWERED:
            return [Lane(participant=who, status=manner.then)]
        reason = self.stops[who].reason
        words = ended.fault.message if ended.fault else _stopped_words(reason)
        return [Lane(participant=who, status="error", error=words, late=reason == "late")]


def turn_message(scene: Scene, ended: TurnEnded) -> Message:
    """Make the message of a turn that ended; how its prompt was made is not known after a crash."""
    return Message(
        id=new_id("msg"),
        discussion=scene.discussion,
        run=scene.run,
        role="assistant",
        content=ended.message.text,
        thoughts=ended.message.thoughts,
        details=ended.message.details,
        script=ended.message.script or None,
        participant=ended.participant,
        name=scene.plan.participant(ended.participant).name,
        stage=ended.stage,
        round=ended.round,
        status=ended.status,
        provider=ended.model.partition("/")[0],
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        latency=ended.latency,
        first_token=ended.first_token,
        fault=ended.fault,
        finish=ended.finish,
        audience=scene.plan.to,
        version_of=scene.plan.again.answer if scene.plan.again else None,
        created_at=time.time(),
    )


def _thread(seat: Seat, manner: Manner) -> str | None:
    return seat.participant if manner.then is not None else None


def charge_of(ended: TurnEnded) -> Charge:
    return Charge(
        purpose="synthesis" if ended.stage == "synthesis" else "answer",
        model=ended.model,
        usage=ended.usage,
        cost=ended.cost,
        participant=ended.participant,
    )


def _stopped_words(reason: Reason | None) -> str:
    match reason:
        case "stopped_by_user":
            return "Stopped before it had answered."
        case "follow_up_interrupt":
            return "Interrupted by the next message."
        case "over_cap":
            return "The run had reached its cap."
        case "late":
            return LATE
    return "It gave no answer."


def _refused(seat: Seat, who: Participant, error: UsageError) -> TurnEnded:
    return TurnEnded(
        participant=seat.participant,
        stage=seat.stage,
        round=seat.round,
        status="failed",
        message=Answer(),
        model=who.model,
        usage=Usage(),
        cost=0.0,
        fault=fault("auth", str(error), retryable=False),
    )
