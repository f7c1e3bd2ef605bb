import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Raw

from moot.engine.tools.toolset import (
    MAX_PARALLEL_CALLS,
    DenyAllApprovals,
    ToolBinding,
    ToolCallContext,
    ToolCallRecord,
    ToolCallRequest,
    Toolset,
    assign_tool_names,
)
from moot.streaming.cancellation import StopSignal
from moot.types.chunks import ToolCall
from moot.types.errors import UsageError
from moot.types.events import ApprovalRequested, ApprovalResolved, Event, ToolCalled, ToolReturned, TurnKey
from moot.types.tools import MAX_RESULT_CHARACTERS, MAX_SHOWN_CHARACTERS, ToolInfo
from tests.support.fake_toolbox import FakeToolbox
from tests.support.toolset_harness import ScriptedApprovals, ToolsetHarness, look_up, never_returns

CALL = ToolCall("1", "dict__look_up", '{"word": "moot"}')


async def call_tools(
    harness: ToolsetHarness,
    *calls: ToolCall,
    stop: StopSignal | None = None,
    approval_stop: StopSignal | None = None,
) -> tuple[list[ToolCallRecord], list[Event]]:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    stop = stop or StopSignal()
    place = ToolCallContext(
        turn_key=TurnKey("alpha"), stop=stop, approval_stop=approval_stop or stop, emit=emit, text_length=3
    )
    return await harness.toolset.call_tools(calls or (CALL,), place), events


async def test_tool_call_is_reported_executed_and_recorded() -> None:
    harness = ToolsetHarness()
    (use,), events = await call_tools(harness)
    called, returned = events
    assert isinstance(called, ToolCalled)
    assert isinstance(returned, ToolReturned)
    assert (called.name, called.arguments) == ("dict/look_up", '{"word": "moot"}')
    assert (returned.call_id, returned.content, returned.is_error) == (
        called.call_id,
        "moot is a meeting.",
        False,
    )
    assert (use.result.call_id, use.result.name, use.result.content) == (
        "1",
        "dict__look_up",
        "moot is a meeting.",
    )
    assert (use.tool_use.call_id, use.tool_use.text_offset) == (called.call_id, 3)
    assert harness.approvals.log == []  # a tool that only reads needs no approval


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (ToolCall("1", "fly", "{}"), "There is no tool 'fly'. Available tools: dict__look_up."),
        (ToolCall("1", "dict__look_up", "{}"), "The arguments do not fit: 'word' is a required property"),
        (ToolCall("1", "dict__look_up", "[1]"), "The arguments are not a JSON object"),
        (
            ToolCall("1", "dict__look_up", '{"word": "' + "x" * 100_000 + '"}'),
            "longer than 100,000 characters",
        ),
    ],
)
async def test_invalid_tool_call_returns_error_to_model(call: ToolCall, words: str) -> None:
    harness = ToolsetHarness()
    (use,), _ = await call_tools(harness, call)
    assert use.result.is_error
    assert words in use.result.content
    assert harness.toolbox.calls == []


async def test_tool_call_times_out_with_error() -> None:
    (use,), _ = await call_tools(ToolsetHarness(never_returns, effects=True, trusted=True, tool_seconds=0.01))
    assert use.result.is_error
    assert "dict/look_up did not return within 0.01 s" in use.result.content
    assert "may still have an effect" in use.result.content


async def test_stop_ends_tool_call() -> None:
    stop = StopSignal()

    async def stopping(arguments: Mapping[str, Any]) -> str:
        stop.request_stop()
        return await never_returns(arguments)

    (use,), _ = await call_tools(ToolsetHarness(stopping), stop=stop)
    assert use.result.content == "Stopped before it had returned."


async def test_long_result_is_truncated_with_note() -> None:
    async def much(_: Mapping[str, Any]) -> str:
        return "x" * 1_000_000

    (use,), events = await call_tools(ToolsetHarness(much))
    assert MAX_RESULT_CHARACTERS < len(use.result.content) < MAX_RESULT_CHARACTERS + 200
    assert "1,000,000 characters long" in use.result.content
    assert len(use.tool_use.content) < MAX_SHOWN_CHARACTERS + 200
    assert isinstance(events[-1], ToolReturned)
    assert events[-1].content == use.tool_use.content


async def test_result_is_stripped_of_characters_a_database_rejects() -> None:
    async def odd(_: Mapping[str, Any]) -> str:
        return "a\0b\ud800"

    (use,), _ = await call_tools(ToolsetHarness(odd))
    assert use.result.content == "ab?"


async def test_tool_exception_becomes_error_result() -> None:
    async def broken(_: Mapping[str, Any]) -> str:
        raise ZeroDivisionError

    (use,), _ = await call_tools(ToolsetHarness(broken))
    assert use.result.content == "The tool failed (ZeroDivisionError)."


async def test_usage_error_of_tool_is_returned_to_model() -> None:
    async def closed(_: Mapping[str, Any]) -> str:
        raise UsageError("The dictionary is closed on Sundays.")

    (use,), _ = await call_tools(ToolsetHarness(closed))
    assert (use.result.content, use.result.is_error) == ("The dictionary is closed on Sundays.", True)


async def test_tool_calls_run_in_parallel_up_to_limit() -> None:
    now, most = 0, 0

    async def counting(_: Mapping[str, Any]) -> str:
        nonlocal now, most
        now += 1
        most = max(most, now)
        for _turn in range(10):
            await asyncio.sleep(0)
        now -= 1
        return ""

    calls = [ToolCall(str(n), "dict__look_up", f'{{"word": "{n}"}}') for n in range(3 * MAX_PARALLEL_CALLS)]
    uses, _ = await call_tools(ToolsetHarness(counting), *calls)
    assert [use.result.call_id for use in uses] == [call.id for call in calls]
    assert most == MAX_PARALLEL_CALLS


async def test_tool_with_effects_is_called_only_after_approval() -> None:
    harness = ToolsetHarness(effects=True)
    (use,), events = await call_tools(harness)
    assert [type(event) for event in events] == [ToolCalled, ApprovalRequested, ApprovalResolved, ToolReturned]
    assert isinstance(events[2], ApprovalResolved)
    assert events[2].outcome == "allow"
    assert harness.approvals.log == ["asked dict/look_up", "begun dict/look_up"]
    assert not use.result.is_error


async def test_rejected_tool_call_is_not_executed() -> None:
    harness = ToolsetHarness(effects=True, approvals=ScriptedApprovals("refuse"))
    (use,), _ = await call_tools(harness)
    assert "The person refused this call." in use.result.content
    assert (harness.toolbox.calls, harness.approvals.log) == ([], ["asked dict/look_up"])


async def test_approval_without_answer_expires() -> None:
    harness = ToolsetHarness(effects=True, approvals=ScriptedApprovals(None), approval_seconds=0.01)
    (use,), events = await call_tools(harness)
    assert isinstance(events[2], ApprovalResolved)
    assert events[2].outcome == "expired"
    assert (use.result.is_error, harness.toolbox.calls) == (True, [])


async def test_stop_or_new_message_ends_approval_request() -> None:
    hurry = StopSignal()
    hurry.request_stop("follow_up_interrupt")
    harness = ToolsetHarness(effects=True, approvals=ScriptedApprovals(None))
    _, events = await call_tools(harness, approval_stop=hurry)
    assert isinstance(events[2], ApprovalResolved)
    assert (events[2].outcome, harness.toolbox.calls) == ("stopped", [])


async def test_tool_with_effects_is_not_called_without_approval_policy() -> None:
    toolbox = FakeToolbox()
    harness = ToolsetHarness()
    harness.toolset = Toolset([ToolBinding(title="dict/look_up", info=ToolInfo(name="look_up"), toolbox=toolbox)])
    (use,), _ = await call_tools(harness)
    assert (use.result.is_error, toolbox.calls) == (True, [])


@pytest.mark.parametrize(("trusted", "standing"), [(True, "wanted"), (False, "given")])
async def test_trusted_or_always_allowed_tool_is_called_and_recorded(trusted: bool, standing: Any) -> None:
    harness = ToolsetHarness(look_up, effects=True, trusted=trusted, approvals=ScriptedApprovals("refuse", standing))
    await call_tools(harness)
    assert (harness.approvals.log, len(harness.toolbox.calls)) == (["begun dict/look_up"], 1)


async def test_call_started_before_crash_requires_approval_even_when_trusted() -> None:
    harness = ToolsetHarness(effects=True, trusted=True, approvals=ScriptedApprovals("refuse", "again"))
    _, events = await call_tools(harness)
    assert isinstance(events[1], ApprovalRequested)
    assert events[1].repeated
    assert harness.toolbox.calls == []


def test_assign_tool_names_returns_valid_unique_names() -> None:
    toolbox = FakeToolbox()
    titles = ["a/b c", "a/b.c", "a/" + "x" * 100, "a/" + "x" * 101, "moot/search"]
    names = list(
        assign_tool_names([ToolBinding(title=one, info=ToolInfo(name="x"), toolbox=toolbox) for one in titles])
    )
    assert names[:2] == ["a__b_c", "a__b_c_2"]
    assert names[-1] == "moot__search"
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    assert len(set(names)) == len(titles)


def test_tool_definitions_have_name_description_and_parameters() -> None:
    (tool,) = ToolsetHarness().toolset.tool_definitions
    assert (tool.name, tool.description, isinstance(tool.parameters, Raw)) == (
        "dict__look_up",
        "Looks.",
        True,
    )


async def test_deny_all_approvals_never_approves() -> None:
    approvals = DenyAllApprovals()
    request = ToolCallRequest(call_id="call_1", tool="notes/write", arguments="{}", turn_key=TurnKey("alpha"))
    await approvals.request_approval(request)
    await approvals.record_call_start(request)
    assert await approvals.approval_state(request) == "wanted"
    assert await approvals.wait_for_decision(request) is None  # type: ignore[func-returns-value]
