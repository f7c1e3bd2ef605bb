"""One turn: looked up if it was kept, else prepared, spoken and kept, whatever comes of it."""

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from msgspec.structs import replace

from moot.engine.tools.session import Workshop
from moot.engine.tools.toolset import Toolkit
from moot.engine.turns.attempts import ActOf
from moot.engine.turns.context import ChainOf, Manner, Scene, Transcript
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.outcomes import LATE, charge_of, refused, stopped_words, turn_message
from moot.engine.turns.token_estimates import MOST, estimate, room
from moot.engine.waits import bounded
from moot.modes.table import Brief
from moot.prompts.builder import prompt
from moot.prompts.lesson import board_of
from moot.prompts.visibility import View, everything, shared
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop
from moot.streaming.lesson_turn import Act
from moot.streaming.speaker_labels import Names
from moot.types.action_docs import line_for
from moot.types.billing import dollars
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.events import ANSWERED, ENDED_BY, Notice, Prompted, Seat, TurnEnded, TurnStatus
from moot.types.faults import fault
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.run_plan import Plan

OPENING_SECONDS = 90.0  # for all servers of tools together; each has less


class Turns:
    def __init__(
        self,
        scene: Scene,
        transcript: Transcript,
        chain_of: ChainOf,
        speaker: Speaker,
        stop: Stop,
        workshop: Workshop | None = None,
    ) -> None:
        self.plan = scene.plan
        self.stops = {who.id: Stop(stop) for who in scene.plan.participants}
        self._scene = scene
        self._transcript = transcript
        self._chain_of = chain_of
        self._speaker = speaker
        self._stop = stop
        self._workshop = workshop

    async def take(self, seat: Seat, manner: Manner) -> TurnStatus:
        if (done := self._kept(seat)) is not None:
            return done.status
        if (stopped := await self._not_begun(seat, manner)) is not None:
            return stopped
        who = self.plan.participant(seat.participant)
        try:
            chain = await self._chain_of(who)
        except UsageError as error:  # no key, say: this lane fails with words, the others go on
            return await self._keep(refused(seat, who, error), manner, self._newest())
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
            lane = Lane(participant=seat.participant, status="error", error=stopped_words(reason))
            event = Notice(kind="missing", message=stopped_words(reason), participant=seat.participant)
            await self._transcript.keep(event, lanes=[lane])
        return ENDED_BY[reason]

    async def _end_at_the_cap(self, more: float = 0.0) -> None:
        cap, spent = self.plan.cap, self._transcript.spent + more
        if cap is not None and spent >= cap and self._stop.reason is None:
            words = f"The run has cost {dollars(spent)}, and its cap is {dollars(cap)}: it ends here."
            await self._transcript.append([Notice(kind="cap", message=words)])
            self._stop.request("over_cap")

    async def _afford(self, cost: float) -> None:
        """Let a turn that calls tools end where it, and with it the run, has cost what it may."""
        await self._end_at_the_cap(cost)
        if self._workshop is None or self._stop.reason is not None:
            return
        if (words := await self._workshop.over_budget(cost)) is not None:
            await self._transcript.append([Notice(kind="cap", message=words)])
            self._stop.request("over_cap")

    async def _kit(self, who: Participant, model: Resolved, stop: Stop) -> Toolkit | None:
        """Put together what somebody may call, and tell what is missing."""
        if self._workshop is None or not who.tools:
            return None
        profile = await asyncio.to_thread(model.provider.profile, model.model)
        if not profile.tools:
            words = f"{model.name} cannot call tools: it answers without them."
            await self._transcript.append([Notice(kind="tools", message=words, participant=who.id)])
            return None
        kit = await bounded(self._workshop.kit(who), OPENING_SECONDS, stop)
        told = kit.troubles if kit else [] if stop.reason else ["The tool servers did not start in time."]
        notices = [Notice(kind="tools", message=words, participant=who.id) for words in told]
        await self._transcript.append([*notices])
        return kit.toolkit if kit else None

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
        kit = await self._kit(who, chain[0], stop)
        async with asyncio.TaskGroup() as beside:  # nobody waits for a brief to be written
            kept = beside.create_task(self._keep_brief(brief)) if brief else None
            await asyncio.sleep(0)  # but it is told before the turn begins
            ended = await self._speaker.speak(
                seat,
                chain,
                request,
                stop,
                self._transcript.append,
                self.plan.measure,
                act_of,
                kit,
                self._afford,
                self._names(who)
                if manner.role == "assistant"
                else None,  # a synthesis may begin with anybody
            )
        if stop.reason == "late" and ended.status == "failed" and ended.fault is None:
            ended = replace(ended, fault=fault("timeout", LATE))
        return await self._keep(ended, manner, kept.result() if kept else upto)

    def _names(self, who: Participant) -> Names:
        """Say as whom somebody speaks, and whose words are not for it to say."""
        others = [other.name for other in self.plan.participants if other.id != who.id]
        return Names(who.name, (*others, *self.plan.people))

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
        words = ended.fault.message if ended.fault else stopped_words(reason)
        return [Lane(participant=who, status="error", error=words, late=reason == "late")]


def _thread(seat: Seat, manner: Manner) -> str | None:
    return seat.participant if manner.then is not None else None
