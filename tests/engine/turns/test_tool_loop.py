"""The tool loop: a model calls a tool, gets the result and continues, all in one turn."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.tool_loop import MAX_ERRORS_IN_A_ROW, MAX_TOOL_ROUNDS, EnforceCostLimits, ignore_cost_limits
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, ScriptedTool, Scripts
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Limits
from moot.types.chunks import Chunk, Done, Failed, Text, Thought, ToolCall, Usage
from moot.types.events import (
    Event,
    Notice,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnKey,
    TurnStarted,
)
from moot.types.faults import make_fault
from moot.types.model_info import Profile
from moot.types.requests import ModelMessage, ModelRequest, ToolResult, user_message
from tests.support.toolset_harness import ToolsetHarness, look_up

MODEL_CALLER = ModelCaller(Limits(idle=60, total=120), backoff_seconds=0.001, jitter=lambda: 0.5)
REQUEST = ModelRequest(model="", messages=(user_message("What is a moot?"),))
LOOK_UP_CALL = ScriptedTool("dict__look_up", '{"word": "moot"}')
CALL = ToolCall("call_1", "dict__look_up", '{"word": "moot"}', "signed")


class SequenceProvider(ScriptedProvider):
    """A model that gives the answers in order and records its requests."""

    def __init__(self, *rounds: Sequence[Chunk], tools: bool = True) -> None:
        super().__init__(Scripts(BUILT_IN_SCRIPTS))
        self.requests: list[ModelRequest] = []
        self._rounds = list(rounds)
        self._tools = tools

    def model_profile(self, model: str) -> Profile:
        return Profile(tools=self._tools)

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        yield list(self._rounds.pop(0))


async def run_turn(
    provider: ScriptedProvider,
    harness: ToolsetHarness | None,
    *others: ScriptedProvider,
    model: str = "m",
    stop: StopSignal | None = None,
    enforce_cost_limits: EnforceCostLimits = ignore_cost_limits,
) -> tuple[TurnEnded, list[Event]]:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    chain = [ResolvedModel(f"scripted/{model}", one, model, KeyRing(())) for one in (provider, *others)]
    toolset = harness.toolset if harness else None
    ended = await MODEL_CALLER.call(
        TurnKey("alpha"),
        chain,
        REQUEST,
        stop or StopSignal(),
        emit,
        toolset=toolset,
        enforce_cost_limits=enforce_cost_limits,
    )
    return ended, events


def visible_text(events: Sequence[Event]) -> str:
    """Join the text that a reader shows."""
    text = ""
    for event in events:
        match event:
            case TextDelta(text=more):
                text += more
            case TextRetracted() | TurnStarted():
                text = ""
    return text


def tool_calling_provider(**more: Any) -> ScriptedProvider:
    return ScriptedProvider(Scripts({"m": Script(tool=LOOK_UP_CALL, **more)}))


async def test_text_before_tool_call_is_stored_and_sent_back_to_model() -> None:
    provider = SequenceProvider(
        [Thought("Hm."), Thought("", "proof"), Text("Let me look."), CALL, Usage(5, 3), Done("tool_calls")],
        [Text("It is a meeting."), Usage(9, 4), Done("stop")],
    )
    harness = ToolsetHarness()
    ended, events = await run_turn(provider, harness)
    assert ended.status == "completed"
    assert ended.message.text == visible_text(events) == "Let me look.\n\nIt is a meeting."
    assert (ended.usage, ended.finish_reason) == (Usage(14, 7), "stop")
    (use,) = ended.message.tools
    assert (use.name, use.content, use.text_offset) == ("dict/look_up", "moot is a meeting.", len("Let me look."))
    assert [tool.name for tool in provider.requests[0].tools] == ["dict__look_up"]
    assert provider.requests[1].messages == (
        *REQUEST.messages,
        ModelMessage("assistant", (Thought("Hm.", "proof"), Text("Let me look."), CALL)),
        ModelMessage("user", (ToolResult("call_1", "dict__look_up", "moot is a meeting."),)),
    )
    assert sum(isinstance(event, TurnStarted) for event in events) == 1


async def test_tool_calls_run_when_finish_reason_is_stop_and_text_is_empty() -> None:
    provider = SequenceProvider([CALL, Done("stop")], [Text("So."), Done("stop")])
    ended, _ = await run_turn(provider, ToolsetHarness())
    assert (ended.message.text, len(ended.message.tools)) == ("So.", 1)


async def test_truncated_tool_call_is_not_executed() -> None:
    harness = ToolsetHarness()
    provider = ScriptedProvider(Scripts({"m": Script(tool=LOOK_UP_CALL, fault="cut_tool")}))
    ended, _ = await run_turn(provider, harness)
    assert (ended.status, harness.toolbox.calls) == ("partial", [])


async def test_parallel_tool_results_keep_call_order() -> None:
    calls = [ToolCall(str(n), "dict__look_up", f'{{"word": "{n}"}}') for n in range(3)]
    provider = SequenceProvider([*calls, Done("tool_calls")], [Text("So."), Done("stop")])
    await run_turn(provider, ToolsetHarness())
    results = provider.requests[1].messages[-1].parts
    assert [part.call_id for part in results if isinstance(part, ToolResult)] == ["0", "1", "2"]


async def test_empty_round_after_tool_call_completes_turn() -> None:
    ended, _ = await run_turn(
        SequenceProvider([Text("I do it."), CALL, Done("stop")], [Done("stop")]), ToolsetHarness()
    )
    assert (ended.status, ended.message.text) == ("completed", "I do it.")


async def test_retracted_thought_keeps_text_of_earlier_rounds() -> None:
    provider = SequenceProvider([Text("First."), CALL, Done("stop")], [Text("hm</think>Second."), Done("stop")])
    ended, events = await run_turn(provider, ToolsetHarness())
    assert ended.message.text == visible_text(events) == "First.\n\nSecond."
    assert "".join(e.text for e in events if isinstance(e, ThoughtDelta)) == ended.message.thoughts == "hm"


async def test_failed_round_is_retried_without_repeating_earlier_rounds() -> None:
    failed = make_fault("overloaded", "Too many.")
    provider = SequenceProvider([Text("First."), CALL, Done("stop")], [Failed(failed)], [Text("Second."), Done("stop")])
    harness = ToolsetHarness()
    ended, events = await run_turn(provider, harness)
    assert ended.message.text == visible_text(events) == "First.\n\nSecond."
    assert len(harness.toolbox.calls) == 1
    assert [event.kind for event in events if isinstance(event, Notice)] == ["retry"]


async def test_fallback_model_continues_after_tool_call_without_signatures() -> None:
    refused = [Failed(make_fault("auth", "No.", retryable=False))]
    first = SequenceProvider([Thought("Hm.", "proof"), Text("First."), CALL, Done("stop")], refused)
    other = SequenceProvider([CALL, Done("stop")], [Text("Second."), Done("stop")])
    harness = ToolsetHarness()
    ended, events = await run_turn(first, harness, other)
    assert ended.status == "completed"
    assert ended.message.text == visible_text(events) == "First.\n\nSecond."
    assert len(harness.toolbox.calls) == 2
    assert [event.kind for event in events if isinstance(event, Notice)] == ["fallback"]
    assert other.requests[0].messages[1].parts == (
        Thought("Hm."),
        Text("First."),
        replace(CALL, signature=""),
    )
    assert [len(provider.requests) for provider in (first, other)] == [2, 2]


async def test_fallback_model_is_not_called_when_round_has_text() -> None:
    broken: list[Chunk] = [Text("Sec"), Failed(make_fault("network", "Gone."))]
    other = SequenceProvider([Text("Me?"), Done("stop")])
    ended, _ = await run_turn(SequenceProvider([Text("First."), CALL, Done("stop")], broken), ToolsetHarness(), other)
    assert (ended.status, ended.message.text, other.requests) == ("partial", "First.\n\nSec", [])


async def test_fallback_model_without_tool_support_gets_no_tools() -> None:
    refused = SequenceProvider([Failed(make_fault("auth", "No.", retryable=False))])
    other = SequenceProvider([Text("So."), Done("stop")], tools=False)
    ended, _ = await run_turn(refused, ToolsetHarness(), other)
    assert (ended.status, other.requests[0].tools) == ("completed", ())


async def test_turn_fails_after_max_errors_in_a_row() -> None:
    async def broken(_: Mapping[str, Any]) -> str:
        raise ValueError("no luck")

    harness = ToolsetHarness(broken)
    ended, _ = await run_turn(tool_calling_provider(tool_calls=50, answer=""), harness)
    assert (ended.status, len(harness.toolbox.calls)) == ("failed", MAX_ERRORS_IN_A_ROW)
    assert ended.fault is not None
    assert "5 tool calls in a row failed" in ended.fault.message
    assert len(ended.message.tools) == MAX_ERRORS_IN_A_ROW


async def test_successful_call_resets_error_count() -> None:
    numbers: list[int] = []

    async def sometimes(_: Mapping[str, Any]) -> str:
        numbers.append(1)
        if len(numbers) % MAX_ERRORS_IN_A_ROW:
            raise ValueError("no luck")
        return "yes"

    ended, _ = await run_turn(
        tool_calling_provider(tool_calls=12, answer="", answer_after_tool="So."), ToolsetHarness(sometimes)
    )
    assert (ended.status, len(numbers)) == ("completed", 12)


async def test_turn_ends_after_max_tool_rounds_with_notice() -> None:
    harness = ToolsetHarness()
    ended, events = await run_turn(tool_calling_provider(tool_calls=1000, answer="Well."), harness)
    assert (ended.status, len(harness.toolbox.calls)) == ("partial", MAX_TOOL_ROUNDS)
    (notice,) = [event for event in events if isinstance(event, Notice)]
    assert (notice.kind, "20 rounds" in notice.message) == ("still_working", True)


async def test_stop_during_tool_call_ends_turn_and_keeps_text() -> None:
    stop = StopSignal()

    async def stopping(arguments: Mapping[str, Any]) -> str:
        stop.request_stop()
        return await look_up(arguments)

    ended, _ = await run_turn(tool_calling_provider(answer="Let me look."), ToolsetHarness(stopping), stop=stop)
    assert (ended.status, ended.message.text) == ("stopped", "Let me look.")


async def test_follow_up_interrupt_waits_for_end_of_turn() -> None:
    stop = StopSignal()

    async def interrupted(arguments: Mapping[str, Any]) -> str:
        stop.request_stop("follow_up_interrupt")
        return await look_up(arguments)

    ended, _ = await run_turn(tool_calling_provider(), ToolsetHarness(interrupted), stop=stop)
    assert (ended.status, ended.message.text.endswith("moot is a meeting.")) == ("completed", True)


async def test_budget_is_enforced_between_rounds() -> None:
    costs: list[float] = []
    stop = StopSignal()

    async def afford(cost: float) -> None:
        costs.append(cost)
        if len(costs) == 2:
            stop.request_stop("max_cost")

    harness = ToolsetHarness()
    ended, _ = await run_turn(
        tool_calling_provider(tool_calls=9, answer="Well.", usd_per_million_tokens=1.0),
        harness,
        stop=stop,
        enforce_cost_limits=afford,
    )
    assert (ended.status, len(harness.toolbox.calls)) == ("stopped", 2)
    assert 0 < costs[0] < costs[1] == ended.cost_usd


async def test_tool_call_without_tools_returns_error_result() -> None:
    ended, events = await run_turn(tool_calling_provider(answer="Let me look."), None)
    assert (ended.status, ended.message.text) == ("completed", "Let me look.")
    assert [type(event) for event in events[-2:]] == [ToolCalled, ToolReturned]
    assert isinstance(events[-1], ToolReturned)
    assert "Available tools: none." in events[-1].content
