"""Tables whose participants follow scripts, with all requests and all events."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import cast

from msgspec.structs import replace

from moot.engine.runs.ephemeral import run_step_directly
from moot.engine.runs.table import RunTable, S
from moot.engine.tools.session import ToolSession
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import RunContext
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Limits
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.events import ANALYSIS_RESULTS, ANSWERED_STATUSES, AnalysisResult, Event, TextDelta, TurnKey
from moot.types.participants import Participant, make_participants
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan

MODEL_CALLER = ModelCaller(Limits(idle=5, total=30), backoff_seconds=0.001, jitter=lambda: 0.5)
QUESTION = Message(id="msg_1", discussion="dis_1", run="run_1", role="user", content="Why?", seq=1)


class RecordingProvider(ScriptedProvider):
    """A scripted provider that records its requests, and counts the streams that were closed."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(Scripts({**BUILT_IN_SCRIPTS, **scripts}))
        self.requests: list[ModelRequest] = []
        self.closed_streams = 0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        try:
            async for chunks in super().stream_chunks(request, key):
                yield chunks
        finally:
            self.closed_streams += 1


class FakeTranscript:
    """A transcript in a list. `on_event` is called with every event before it is appended.

    `open_turns` are turns that a crash interrupted.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = list(messages)
        self.analysis_results: list[AnalysisResult] = []
        self.lanes: dict[str, Lane] = {}
        self.charges: list[Charge] = []
        self.spent_usd = 0.0
        self.open_turns: set[TurnKey] = set()
        self.events: list[Event] = []
        self.on_event: Callable[[Event], None] = lambda _: None

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        return turn_key in self.open_turns

    async def append_events(self, events: list[Event]) -> None:
        for event in events:
            self.on_event(event)
            self.events.append(event)

    async def commit_event(
        self, event: Event, message: Message | None = None, *, lanes: Sequence[Lane] = (), charge: Charge | None = None
    ) -> int:
        if message is not None:
            self.messages.append(replace(message, seq=len(self.messages) + 1))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        self.lanes |= {lane.participant: lane for lane in lanes}
        if charge is not None:
            self.charges.append(charge)
            self.spent_usd += charge.cost_usd or 0.0
        await self.append_events([event])
        return len(self.messages)

    def discard_failed_turns(self, participant: str) -> None:
        own = [m for m in self.messages if m.participant == participant]
        answered = {m.stage for m in own if m.status in ANSWERED_STATUSES}
        discarded = [m for m in own if m.status not in ANSWERED_STATUSES]
        discarded += [m for m in self.messages if m.hidden and m.thread == participant and m.stage not in answered]
        self.messages = [m for m in self.messages if m not in discarded]


class TableHarness:
    """A table set up for a test. The models of its participants are names of scripts."""

    def __init__(
        self,
        mode: str,
        *models: str,
        messages: Sequence[Message] = (QUESTION,),
        model_errors: Mapping[str, UsageError] | None = None,
        scripts: Mapping[str, Script] | None = None,
        provider: RecordingProvider | None = None,
        revision: int = 0,
        tool_session: ToolSession | None = None,
        **more: object,
    ) -> None:
        plan = RunPlan(**{"mode": mode, "participants": make_participants(models), **more})  # type: ignore[arg-type]
        self.provider = provider or RecordingProvider(scripts or {})
        self.transcript = FakeTranscript(messages)
        self.stop = StopSignal()
        self.steps: list[str] = []
        self.step_results: dict[str, str] = {}  # the result of every step
        self.recorded_results: dict[str, str] = {}  # from before a crash: these steps are not executed again
        self._model_errors = model_errors or {}
        context = RunContext(
            run="run_1",
            discussion="dis_1",
            plan=plan,
            revision=revision,
            attachments={},
            transcript=self.transcript,
            resolve_model=self._resolve_model,
            model_caller=MODEL_CALLER,
            stop=self.stop,
            tool_session=tool_session,
        )
        self.table = RunTable(context, self._run_step)

    async def _resolve_model(self, participant: Participant) -> Sequence[ResolvedModel]:
        if participant.id in self._model_errors:
            raise self._model_errors[participant.id]
        return [ResolvedModel(participant.model, self.provider, participant.model, KeyRing(()))]

    async def _run_step(self, name: str, body: Callable[[], Coroutine[None, None, S]]) -> S:
        self.steps.append(name)
        if name in self.recorded_results:
            self.step_results[name] = self.recorded_results[name]
            return cast("S", self.recorded_results[name])
        result = await run_step_directly(name, body)
        self.step_results[name] = result
        return result

    def on_text(self, participant: str, text: str, callback: Callable[[], None]) -> None:
        """Call something as soon as the text of a participant contains `text`."""

        def listen(event: Event) -> None:
            if isinstance(event, TextDelta) and event.participant == participant and text in event.text:
                callback()

        self.transcript.on_event = listen

    @property
    def answers(self) -> list[Message]:
        return [message for message in self.transcript.messages if message.role == "assistant"]

    @property
    def answer_lines(self) -> list[str]:
        """The answers, one line for each."""
        return [f"{m.round}/{m.participant} {m.status}: {m.content}" for m in self.answers]

    @property
    def sent_messages(self) -> list[list[tuple[str, ...]]]:
        """The messages of every request, without system prompts: for each message its role and its texts."""
        return [
            [(message.role, *(str(getattr(part, "text", part)) for part in message.parts)) for message in call.messages]
            for call in self.provider.requests
        ]
