"""Executes a run in this process, without a database."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

from msgspec.structs import replace

from moot.engine.runs.table import LiveTable, S
from moot.engine.tools.session import Workshop
from moot.engine.turns.context import Scene
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.token_estimates import measured
from moot.prompts.parts import Attached, Enclosed
from moot.providers.registry import Resolved
from moot.streaming.cancellation import Stop
from moot.types.billing import Charge
from moot.types.chunks import Text
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.events import FINDINGS, Event, Finding, Notice, RunEnded, RunStarted, Seat
from moot.types.model_info import Measure
from moot.types.modes import WINDOWED
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.requests import Message as Told
from moot.types.run_plan import Plan

Reader = Callable[[list[Event]], Awaitable[None] | None]  # one that says when it has read is waited for


class RunLog:
    def __init__(self, reader: Reader) -> None:
        self.run = new_id("run")
        self._reader = reader
        self._seq = 0

    async def append(self, events: list[Event]) -> None:
        """Stamp events with the run, their number and the time, and hand them to the reader."""
        now = time.time()
        stamped: list[Event] = []
        for event in events:
            self._seq += 1
            stamped.append(replace(event, run=self.run, seq=self._seq, at=now))
        if (reading := self._reader(stamped)) is not None:
            await reading


WITHOUT_TOOLS = "Nothing of this is kept, so no tools are called; without theirs answers: {}."

Pay = Callable[[Sequence[Charge]], Awaitable[None]]


async def unpaid(charges: Sequence[Charge]) -> None:
    """Nobody keeps an account of it."""


class Notes:
    """A transcript that lives as long as the run."""

    def __init__(self, log: RunLog, said: Sequence[Message], pay: Pay) -> None:
        self.said: list[Message] = list(said)
        self.found: list[Finding] = []
        self.spent = 0.0
        self._log = log
        self._pay = pay

    def is_open(self, seat: Seat) -> bool:  # noqa: ARG002 - a Transcript
        """Nobody has seen anything of a turn that is to begin."""
        return False

    async def append(self, events: list[Event]) -> None:
        await self._log.append(events)

    async def keep(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),  # noqa: ARG002 - nobody asks for them here
        charges: Sequence[Charge] = (),
    ) -> int:
        self.spent += sum(charge.cost or 0.0 for charge in charges)
        if charges:
            await self._pay(charges)
        if message is not None:
            self.said.append(replace(message, number=len(self.said) + 1))
        if isinstance(event, FINDINGS):
            self.found.append(event)
        await self._log.append([event])
        return len(self.said)

    def forget(self, participant: str) -> None:
        """Nobody tries again here: a run is over when it has ended."""


async def run(
    plan: Plan,
    question: Told,
    chains: Mapping[str, Sequence[Resolved]],
    log: RunLog,
    speaker: Speaker,
    stop: Stop,
    *,
    earlier: Sequence[Message] = (),
    attached: Attached | None = None,
    pay: Pay = unpaid,
    workshop: Workshop | None = None,
) -> RunEnded:
    """Put one question, its material before its words, to the table; `chains` are the models that may speak for each participant.

    `earlier` is what was said before in other runs, and `attached` what came with that.
    """
    *material, words = question.parts
    content = words.text if isinstance(words, Text) else ""
    asked = Message(
        id=new_id("msg"),
        discussion="",
        run=log.run,
        role="user",
        content=content,
        number=len(earlier) + 1,
        created_at=time.time(),
    )
    if plan.mode in WINDOWED:
        plan = replace(plan, measures=await asyncio.to_thread(_measured, plan, chains))
    enclosed = {**(attached or {}), asked.id: tuple(map(Enclosed, material))}
    scene = Scene(run=log.run, discussion="", plan=plan, attached=enclosed)

    async def chain(who: Participant) -> Sequence[Resolved]:
        return chains[who.id]

    table = LiveTable(scene, Notes(log, [*earlier, asked], pay), chain, speaker, stop, at_once, workshop)
    await log.append([RunStarted(participants=plan.participants)])
    if workshop is None and (names := [who.name for who in plan.speaking if who.tools]):
        await log.append([Notice(kind="tools", message=WITHOUT_TOOLS.format(", ".join(names)))])
    ended = RunEnded(status=await table.play())
    await log.append([ended])
    return ended


def _measured(plan: Plan, chains: Mapping[str, Sequence[Resolved]]) -> dict[str, Measure]:
    """Say how much each model can hold; nobody has counted here."""
    return {
        who.model: measured([one.provider.profile(one.model) for one in chains[who.id]])
        for who in plan.participants
    }


async def at_once(name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:  # noqa: ARG001 - a Step
    """A step that nobody will replay."""
    return await body()
