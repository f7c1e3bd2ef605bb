import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import Raw

from moot.engine.tools.toolset import (
    MAX_PARALLEL_CALLS,
    ToolBinding,
    ToolCallContext,
    ToolCallRecord,
    Toolset,
    assign_tool_names,
)
from moot.streaming.cancellation import StopSignal
from moot.tools.fake import FakeToolbox
from moot.types.chunks import ToolCall
from moot.types.errors import UsageError
from moot.types.events import ApprovalGiven, ApprovalWanted, Event, ToolCalled, ToolReturned, TurnKey
from moot.types.tools import MAX_RESULT_CHARACTERS, MAX_SHOWN_CHARACTERS, ToolInfo
from tests.engine.kits import ScriptedApprovals, ToolsetHarness, look_up, never_returns

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


async def test_a_call_is_told_made_and_kept() -> None:
    bench = ToolsetHarness()
    (use,), events = await call_tools(bench)
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
    assert (use.tool_use.call_id, use.tool_use.said) == (called.call_id, 3)
    assert bench.approvals.log == []  # nobody is asked about what only reads


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (ToolCall("1", "fly", "{}"), "There is no tool 'fly'. These tools are there: dict__look_up."),
        (ToolCall("1", "dict__look_up", "{}"), "The arguments do not fit: 'word' is a required property"),
        (ToolCall("1", "dict__look_up", "[1]"), "The arguments are no JSON object"),
        (
            ToolCall("1", "dict__look_up", '{"word": "' + "x" * 100_000 + '"}'),
            "longer than 100,000 characters",
        ),
    ],
)
async def test_a_call_that_cannot_be_made_is_an_error_that_the_model_is_told(
    call: ToolCall, words: str
) -> None:
    bench = ToolsetHarness()
    (use,), _ = await call_tools(bench, call)
    assert use.result.is_error
    assert words in use.result.content
    assert bench.toolbox.calls == []


async def test_a_tool_has_its_time_and_that_it_is_over_is_told() -> None:
    (use,), _ = await call_tools(ToolsetHarness(never_returns, effects=True, trusted=True, tool_seconds=0.01))
    assert use.result.is_error
    assert "dict/look_up did not return within 0.01 s" in use.result.content
    assert "may still happen" in use.result.content


async def test_a_stop_ends_a_call() -> None:
    stop = StopSignal()

    async def stopping(arguments: Mapping[str, Any]) -> str:
        stop.request_stop()
        return await never_returns(arguments)

    (use,), _ = await call_tools(ToolsetHarness(stopping), stop=stop)
    assert use.result.content == "Stopped before it had returned."


async def test_a_megabyte_is_cut_with_a_word_about_it() -> None:
    async def much(_: Mapping[str, Any]) -> str:
        return "x" * 1_000_000

    (use,), events = await call_tools(ToolsetHarness(much))
    assert MAX_RESULT_CHARACTERS < len(use.result.content) < MAX_RESULT_CHARACTERS + 200
    assert "1,000,000 characters long" in use.result.content
    assert len(use.tool_use.content) < MAX_SHOWN_CHARACTERS + 200
    assert isinstance(events[-1], ToolReturned)
    assert events[-1].content == use.tool_use.content


async def test_what_no_database_keeps_is_dropped() -> None:
    async def odd(_: Mapping[str, Any]) -> str:
        return "a\0b\ud800"

    (use,), _ = await call_tools(ToolsetHarness(odd))
    assert use.result.content == "ab?"


async def test_a_mistake_of_a_tool_ends_nothing() -> None:
    async def broken(_: Mapping[str, Any]) -> str:
        raise ZeroDivisionError

    (use,), _ = await call_tools(ToolsetHarness(broken))
    assert use.result.content == "The tool failed (ZeroDivisionError)."


async def test_what_a_tool_rejects_the_model_is_told_in_its_words() -> None:
    async def closed(_: Mapping[str, Any]) -> str:
        raise UsageError("The dictionary is closed on Sundays.")

    (use,), _ = await call_tools(ToolsetHarness(closed))
    assert (use.result.content, use.result.is_error) == ("The dictionary is closed on Sundays.", True)


async def test_calls_are_made_side_by_side_but_not_all_at_once() -> None:
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


async def test_nothing_with_effects_is_called_before_it_is_allowed() -> None:
    bench = ToolsetHarness(effects=True)
    (use,), events = await call_tools(bench)
    assert [type(event) for event in events] == [ToolCalled, ApprovalWanted, ApprovalGiven, ToolReturned]
    assert isinstance(events[2], ApprovalGiven)
    assert events[2].answer == "allow"
    assert bench.approvals.log == ["asked dict/look_up", "begun dict/look_up"]
    assert not use.result.is_error


async def test_what_is_refused_is_not_called() -> None:
    bench = ToolsetHarness(effects=True, approvals=ScriptedApprovals("refuse"))
    (use,), _ = await call_tools(bench)
    assert "The person refused this call." in use.result.content
    assert (bench.toolbox.calls, bench.approvals.log) == ([], ["asked dict/look_up"])


async def test_nobody_s_answer_is_no() -> None:
    bench = ToolsetHarness(effects=True, approvals=ScriptedApprovals(None), approval_seconds=0.01)
    (use,), events = await call_tools(bench)
    assert isinstance(events[2], ApprovalGiven)
    assert events[2].answer == "expired"
    assert (use.result.is_error, bench.toolbox.calls) == (True, [])


async def test_a_stop_or_another_message_ends_the_question() -> None:
    hurry = StopSignal()
    hurry.request_stop("follow_up_interrupt")
    bench = ToolsetHarness(effects=True, approvals=ScriptedApprovals(None))
    _, events = await call_tools(bench, approval_stop=hurry)
    assert isinstance(events[2], ApprovalGiven)
    assert (events[2].answer, bench.toolbox.calls) == ("stopped", [])


async def test_without_anybody_to_ask_nothing_with_effects_is_called() -> None:
    box = FakeToolbox()
    bench = ToolsetHarness()
    bench.toolset = Toolset([ToolBinding(title="dict/look_up", info=ToolInfo(name="look_up"), toolbox=box)])
    (use,), _ = await call_tools(bench)
    assert (use.result.is_error, box.calls) == (True, [])


@pytest.mark.parametrize(("trusted", "standing"), [(True, "wanted"), (False, "given")])
async def test_what_is_trusted_or_was_allowed_for_good_is_called_and_noted(
    trusted: bool, standing: Any
) -> None:
    bench = ToolsetHarness(
        look_up, effects=True, trusted=trusted, approvals=ScriptedApprovals("refuse", standing)
    )
    await call_tools(bench)
    assert (bench.approvals.log, len(bench.toolbox.calls)) == (["begun dict/look_up"], 1)


async def test_what_was_begun_before_a_crash_is_asked_about_again_however_trusted() -> None:
    bench = ToolsetHarness(effects=True, trusted=True, approvals=ScriptedApprovals("refuse", "again"))
    _, events = await call_tools(bench)
    assert isinstance(events[1], ApprovalWanted)
    assert events[1].again
    assert bench.toolbox.calls == []


def test_every_tool_has_a_name_that_providers_take_and_no_two_the_same() -> None:
    box = FakeToolbox()
    titles = ["a/b c", "a/b.c", "a/" + "x" * 100, "a/" + "x" * 101, "moot/search"]
    names = list(
        assign_tool_names([ToolBinding(title=one, info=ToolInfo(name="x"), toolbox=box) for one in titles])
    )
    assert names[:2] == ["a__b_c", "a__b_c_2"]
    assert names[-1] == "moot__search"
    assert all(len(name) <= 64 and name.replace("_", "").isalnum() for name in names)
    assert len(set(names)) == len(titles)


def test_what_is_offered() -> None:
    (tool,) = ToolsetHarness().toolset.tool_definitions
    assert (tool.name, tool.description, isinstance(tool.parameters, Raw)) == (
        "dict__look_up",
        "Looks.",
        True,
    )
