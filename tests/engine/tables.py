"""Tables whose participants follow scripts, with all that was sent to them and all that was told of it."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from moot.engine.runs.inline import at_once
from moot.engine.runs.table import LiveTable, S
from moot.engine.tools.session import Workshop
from moot.engine.turns.context import Scene
from moot.engine.turns.model_caller import Speaker
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import Resolved
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN, Script, Scripts
from moot.streaming.cancellation import Stop
from moot.streaming.turn_stream import Limits
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.events import ANSWERED, FINDINGS, Event, Finding, Seat, TextDelta
from moot.types.participants import Participant, seat
from moot.types.requests import ModelRequest
from moot.types.run_plan import Plan

SPEAKER = Speaker(Limits(idle=5, total=30), backoff=0.001, jitter=lambda: 0.5)
QUESTION = Message(id="msg_1", discussion="dis_1", run="run_1", role="user", content="Why?", number=1)


class Recorded(ScriptedProvider):
    """Scripts that remember what they were asked, and whose answers were heard to their end or closed."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(Scripts({**BUILT_IN, **scripts}))
        self.asked: list[ModelRequest] = []
        self.closed = 0

    async def stream(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.asked.append(request)
        try:
            async for chunks in super().stream(request, key):
                yield chunks
        finally:
            self.closed += 1


class Said:
    """A transcript in a list; `heard` is called with every event before it counts as told.

    `open` are turns that a crash cut off.
    """

    def __init__(self, said: Sequence[Message]) -> None:
        self.said = list(said)
        self.found: list[Finding] = []
        self.lanes: dict[str, Lane] = {}
        self.charges: list[Charge] = []
        self.spent = 0.0
        self.open: set[Seat] = set()
        self.events: list[Event] = []
        self.heard: Callable[[Event], None] = lambda _: None

    def is_open(self, seat: Seat) -> bool:
        return seat in self.open

    async def append(self, events: list[Event]) -> None:
        for event in events:
            self.heard(event)
            self.events.append(event)

    async def keep(
        self,
        event: Event,
        message: Message | None = None,
        *,
        lanes: Sequence[Lane] = (),
        charges: Sequence[Charge] = (),
    ) -> int:
        if message is not None:
            self.said.append(replace(message, number=len(self.said) + 1))
        if isinstance(event, FINDINGS):
            self.found.append(event)
        self.lanes |= {lane.participant: lane for lane in lanes}
        self.charges += charges
        self.spent += sum(charge.cost or 0.0 for charge in charges)
        await self.append([event])
        return len(self.said)

    def forget(self, participant: str) -> None:
        mine = [m for m in self.said if m.participant == participant]
        answered = {m.stage for m in mine if m.status in ANSWERED}
        gone = [m for m in mine if m.status not in ANSWERED]
        gone += [m for m in self.said if m.hidden and m.thread == participant and m.stage not in answered]
        self.said = [m for m in self.said if m not in gone]


class Stage:
    """A table set up for a test. The models of its seats are names of scripts."""

    def __init__(
        self,
        mode: str,
        *models: str,
        said: Sequence[Message] = (QUESTION,),
        refused: Mapping[str, UsageError] | None = None,
        scripts: Mapping[str, Script] | None = None,
        provider: Recorded | None = None,
        revision: int = 0,
        workshop: Workshop | None = None,
        **more: object,
    ) -> None:
        plan = Plan(**{"mode": mode, "participants": seat(models), **more})  # type: ignore[arg-type]
        self.provider = provider or Recorded(scripts or {})
        self.transcript = Said(said)
        self.stop = Stop()
        self.steps: list[str] = []
        self.came: dict[str, str] = {}  # what every step came to
        self.recorded: dict[str, str] = {}  # what steps came to before a crash: they are not done again
        self._refused = refused or {}
        scene = Scene(run="run_1", discussion="dis_1", plan=plan, revision=revision)
        self.table = LiveTable(scene, self.transcript, self._chain, SPEAKER, self.stop, self._step, workshop)

    async def _chain(self, who: Participant) -> Sequence[Resolved]:
        if who.id in self._refused:
            raise self._refused[who.id]
        return [Resolved(who.model, self.provider, who.model, KeyRing(()))]

    async def _step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        self.steps.append(name)
        if name in self.recorded:
            self.came[name] = self.recorded[name]
            return cast("S", self.recorded[name])
        came = await at_once(name, body)
        self.came[name] = came
        return came

    def when_heard(self, who: str, words: str, then: Callable[[], None]) -> None:
        """Do something as soon as a participant has said certain words."""

        def listen(event: Event) -> None:
            if isinstance(event, TextDelta) and event.participant == who and words in event.text:
                then()

        self.transcript.heard = listen

    @property
    def answers(self) -> list[Message]:
        return [message for message in self.transcript.said if message.role == "assistant"]

    @property
    def told(self) -> list[str]:
        """What was kept, in short."""
        return [f"{m.round}/{m.participant} {m.status}: {m.content}" for m in self.answers]

    @property
    def asked(self) -> list[list[tuple[str, ...]]]:
        """What every call was sent, without system prompts: for each message its role and its texts."""
        return [
            [
                (message.role, *(str(getattr(part, "text", part)) for part in message.parts))
                for message in call.messages
            ]
            for call in self.provider.asked
        ]
