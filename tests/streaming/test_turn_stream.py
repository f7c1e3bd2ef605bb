import asyncio
import itertools
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.cancellation import StopSignal
from moot.streaming.lesson_turn import LessonTurnParser
from moot.streaming.turn_stream import Limits, StreamConsumer, StreamResult, consume_stream
from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.events import (
    ActionRejected,
    ActionTaken,
    Event,
    TextDelta,
    TextRetracted,
    ThoughtDelta,
    TurnKey,
)
from moot.types.faults import make_fault
from moot.whiteboard.state import EMPTY_BOARD
from tests.streaming.fake_clock import FakeClock, clock
from tests.support.provider_turns import GENEROUS_LIMITS

__all__ = ["clock"]


async def chunk_stream(*batches: list[Chunk], hang: bool = False) -> AsyncGenerator[list[Chunk], None]:
    for batch in batches:
        yield batch
    if hang:
        await asyncio.Event().wait()


async def consume_turn(
    stream: AsyncGenerator[list[Chunk], None],
    *,
    stop: StopSignal | None = None,
    limits: Limits = GENEROUS_LIMITS,
    lesson_parser: LessonTurnParser | None = None,
    tools: bool = False,
    has_spoken: bool = False,
) -> tuple[StreamResult, list[Event]]:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    key = TurnKey("alpha", "debate", 2)
    consumer = StreamConsumer(key, limits, lesson_parser, has_tools=tools, has_spoken=has_spoken)
    return await consume_stream(stream, consumer, stop or StopSignal(), emit), events


async def test_consume_stream_turns_chunks_into_events_and_result() -> None:
    result, events = await consume_turn(
        chunk_stream([Thought("Hm.")], [Text("Yes"), Text(", ")], [Text("so.")], [Usage(5, 3), Done("stop")])
    )
    where: dict[str, Any] = {"participant": "alpha", "stage": "debate", "round": 2}
    assert events == [
        ThoughtDelta(text="Hm.", **where),
        TextDelta(text="Yes, ", **where),
        TextDelta(text="so.", **where),
    ]
    assert (result.status, result.text, result.thoughts) == ("completed", "Yes, so.", "Hm.")
    assert (result.usage, result.finish) == (Usage(5, 3), "stop")
    assert result.first_token_seconds is not None


async def test_first_token_time_starts_at_first_visible_chunk() -> None:
    result, _ = await consume_turn(chunk_stream([Progress(5)], [Done("stop")]))
    assert result.first_token_seconds is None
    result, _ = await consume_turn(
        chunk_stream([Progress(5)], [ToolCall("1", "look", "{}"), Done("tool_calls")]), tools=True
    )
    assert result.first_token_seconds is not None


async def test_latest_usage_is_reported() -> None:
    result, _ = await consume_turn(chunk_stream([Usage(5, 1)], [Text("x"), Usage(5, 9), Done("stop")]))
    assert result.usage == Usage(5, 9)


async def test_tool_calls_set_tool_call_status_and_keep_text() -> None:
    call = ToolCall("1", "look_up", "{}")
    result, _ = await consume_turn(chunk_stream([Text("Let me look."), call, Done("tool_calls")]))
    assert (result.status, result.text, result.tool_calls) == ("tool_call", "Let me look.", (call,))


async def test_result_parts_keep_thought_signatures_and_order() -> None:
    call = ToolCall("1", "look_up", "{}", "signed")
    chunks: list[Chunk] = [
        Thought("H"),
        Thought("m."),
        Thought("", "proof"),
        Thought("And?"),
        Text("Let "),
        Text("me."),
    ]
    result, _ = await consume_turn(chunk_stream(chunks[:3], [*chunks[3:], call, Done("stop")]), tools=True)
    assert result.parts == (Thought("Hm.", "proof"), Thought("And?"), Text("Let me."), call)


async def test_tool_calls_without_text_are_an_answer_when_tools_exist() -> None:
    call = ToolCall("1", "look_up", "{}")
    result, _ = await consume_turn(chunk_stream([call, Done("tool_calls")]), tools=True)
    assert (result.status, result.tool_calls) == ("tool_call", (call,))


async def test_empty_answer_is_completed_after_earlier_text() -> None:
    result, _ = await consume_turn(chunk_stream([Done("stop")]), has_spoken=True)
    assert (result.status, result.text) == ("completed", "")


async def test_tool_calls_are_dropped_after_failure() -> None:
    result, _ = await consume_turn(
        chunk_stream([ToolCall("1", "look_up", "{}"), Failed(make_fault("network", "broke"))])
    )
    assert (result.status, result.tool_calls) == ("error", ())


@pytest.mark.parametrize("hang", [True, False])
async def test_idle_stream_times_out_and_keeps_text(hang: bool) -> None:
    result, _ = await consume_turn(chunk_stream([Text("half an ans")], hang=hang), limits=Limits(idle=0.02))
    assert result.text == "half an ans"
    assert result.status == ("timeout" if hang else "error")
    assert result.fault is not None
    assert ("0.02 s" if hang else "incomplete") in result.fault.message


async def test_usage_chunks_do_not_count_as_progress() -> None:
    async def busy_saying_nothing() -> AsyncGenerator[list[Chunk], None]:
        while True:
            yield [Usage(1, 1)]
            await asyncio.sleep(0.001)

    result, _ = await consume_turn(busy_saying_nothing(), limits=Limits(idle=0.05))
    assert result.status == "timeout"


async def test_total_timeout_ends_endless_answer() -> None:
    async def chatter() -> AsyncGenerator[list[Chunk], None]:
        while True:
            yield [Text("blah ")]
            await asyncio.sleep(0.001)

    result, _ = await consume_turn(chatter(), limits=Limits(idle=1, total=0.05))
    assert (result.status, result.text[:5]) == ("timeout", "blah ")


async def test_character_limit_ends_endless_answer() -> None:
    async def flood() -> AsyncGenerator[list[Chunk], None]:
        while True:
            yield [Text("x" * 1000)]

    result, _ = await consume_turn(flood(), limits=Limits(characters=10_000))
    assert result.status == "error"
    assert result.fault is not None
    assert not result.fault.retryable
    assert "10,000 characters" in result.fault.message


async def test_stop_keeps_text_and_closes_stream() -> None:
    stop, closed = StopSignal(), asyncio.Event()

    async def slow() -> AsyncGenerator[list[Chunk], None]:
        try:
            yield [Text("so far")]
            stop.request_stop()
            await asyncio.Event().wait()
        finally:
            closed.set()

    result, events = await consume_turn(slow(), stop=stop)
    assert (result.status, result.text, result.fault) == ("stopped_by_user", "so far", None)
    assert closed.is_set()
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == result.text


async def test_stop_before_start_reads_nothing() -> None:
    stop = StopSignal()
    stop.request_stop("follow_up_interrupt")
    result, events = await consume_turn(chunk_stream(hang=True), stop=stop)
    assert (result.status, events) == ("follow_up_interrupt", [])


async def test_stop_during_last_batch_keeps_completed_status() -> None:
    stop = StopSignal()

    async def emit(_: list[Event]) -> None:
        stop.request_stop()

    stream = chunk_stream([Text("all"), Done("stop")])
    finished = await consume_stream(stream, StreamConsumer(TurnKey("a"), GENEROUS_LIMITS), stop, emit)
    assert (finished.status, finished.text) == ("completed", "all")


async def test_pending_events_are_emitted_when_stop_arrives() -> None:
    stop, emitted = StopSignal(), list[Event]()

    async def slow_reader(events: list[Event]) -> None:
        stop.request_stop()
        await asyncio.sleep(0.01)
        emitted.extend(events)

    stream = chunk_stream([Text("kept")], hang=True)
    result = await consume_stream(stream, StreamConsumer(TurnKey("a"), GENEROUS_LIMITS), stop, slow_reader)
    assert (result.status, result.text) == ("stopped_by_user", "kept")
    assert [e.text for e in emitted if isinstance(e, TextDelta)] == ["kept"]


@pytest.mark.parametrize(
    ("chunks", "status", "kind"),
    [
        ([Done("stop")], "empty_response", "bad_response"),
        ([Text(" \n"), Done("stop")], "empty_response", "bad_response"),
        ([Thought("only thought"), Done("stop")], "empty_response", "bad_response"),
        ([Thought("ran out"), Done("length")], "error", "context_length"),
        ([Text("cut"), Done("length")], "completed", None),
        ([ToolCall("1", "made_up", "{}"), Done("tool_calls")], "empty_response", "bad_response"),
        ([Text("some"), Done("content_filter")], "error", "content_blocked"),
        ([Done("content_filter")], "error", "content_blocked"),
    ],
)
async def test_final_chunks_set_status_and_fault_kind(chunks: list[Chunk], status: str, kind: str | None) -> None:
    result, _ = await consume_turn(chunk_stream(chunks))
    assert result.status == status
    assert (result.fault.kind if result.fault else None) == kind


async def test_internal_error_is_not_retryable() -> None:
    async def broken() -> AsyncGenerator[list[Chunk], None]:
        yield [Text("so far")]
        raise KeyError("seat")

    result, _ = await consume_turn(broken())
    assert (result.status, result.text) == ("error", "so far")
    assert result.fault == make_fault("api_error", "An internal error ended this turn (KeyError).", retryable=False)


async def test_nul_and_lone_surrogates_are_replaced() -> None:
    result, events = await consume_turn(chunk_stream([Text("a\0b \ud800c"), Thought("\0"), Done("stop")]))
    assert result.text == "ab \ufffdc"
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == result.text


async def test_retracted_text_is_emitted_again_as_thought() -> None:
    result, events = await consume_turn(chunk_stream([Text("pondering")], [Text("</think>Yes.")], [Done("stop")]))
    assert [type(e) for e in events] == [TextDelta, TextRetracted, ThoughtDelta, TextDelta]
    assert (result.text, result.thoughts) == ("Yes.", "pondering")


async def test_held_back_text_is_emitted_at_end() -> None:
    result, events = await consume_turn(chunk_stream([Text("1 <")], [Done("stop")]))
    assert result.text == "1 <"
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == "1 <"


async def test_captured_details_count_as_progress(clock: FakeClock) -> None:
    async def small_print() -> AsyncGenerator[list[Chunk], None]:
        yield [Text("Yes.<details>")]
        for _ in range(8):
            clock.advance(0.2)
            await asyncio.sleep(0)
            yield [Text("so ")]
        yield [Text("</details>"), Done("stop")]

    result, _ = await consume_turn(small_print(), limits=Limits(idle=1.0))
    assert (result.status, result.text) == ("completed", "Yes.")
    assert result.details.startswith("so so")


OPEN_ITEM = '{"type":"action","name":"wb_open","params":{}}'
TAGGED_ARRAY = '[{"type":"text","content":"Write <details>x</details> and <think>y</think>."}]'
THOUGHT_AND_ARRAY = f"<think>a < b, so [1] <b>is</b> `it`</think>\n{TAGGED_ARRAY}"


def split_text(text: str, places: list[int]) -> list[list[Chunk]]:
    cuts = [0, *sorted(places), len(text)]
    return [[Text(text[start:end])] for start, end in itertools.pairwise(cuts)]


async def test_lesson_turn_emits_speech_and_actions_with_turn_key() -> None:
    array = f'[{OPEN_ITEM},{{"type":"text","content":"Look."}},{{"type":"action","name":"laser"}}]'
    result, events = await consume_turn(
        chunk_stream([Text(array)], [Done("stop")]), lesson_parser=LessonTurnParser("student", EMPTY_BOARD)
    )
    taken, speech, dropped = events
    assert isinstance(taken, ActionTaken)
    assert isinstance(dropped, ActionRejected)
    assert speech == TextDelta(participant="alpha", stage="debate", round=2, text="Look.")
    assert {event.turn_key for event in (taken, dropped)} == {TurnKey("alpha", "debate", 2)}
    assert dropped.name == "laser"
    assert (result.status, result.text) == ("completed", "Look.")
    assert result.lesson_items == f'[{OPEN_ITEM},{{"type":"text","content":"Look."}}]'


async def test_lesson_turn_with_only_actions_is_an_answer() -> None:
    result, _ = await consume_turn(
        chunk_stream([Text(f"[{OPEN_ITEM}]")], [Done("stop")]),
        lesson_parser=LessonTurnParser("student", EMPTY_BOARD),
    )
    assert (result.status, result.text, result.lesson_items) == ("completed", "", f"[{OPEN_ITEM}]")


@pytest.mark.parametrize("nothing", ["", "[]", "<think>Hm.</think>", '[{"type":"action","name":"dance"}]'])
async def test_lesson_turn_without_items_is_empty_response(nothing: str) -> None:
    result, _ = await consume_turn(
        chunk_stream([Text(nothing)], [Done("stop")]), lesson_parser=LessonTurnParser("student", EMPTY_BOARD)
    )
    assert (result.status, result.lesson_items) == ("empty_response", "")


@given(st.lists(st.integers(0, len(THOUGHT_AND_ARRAY)), max_size=20))
async def test_thoughts_before_array_and_tags_inside_it_do_not_depend_on_chunks(
    places: list[int],
) -> None:
    result, events = await consume_turn(
        chunk_stream(*split_text(THOUGHT_AND_ARRAY, places), [Done("stop")]),
        lesson_parser=LessonTurnParser("student", EMPTY_BOARD),
    )
    assert result.thoughts == "a < b, so [1] <b>is</b> `it`"
    assert result.text == "Write <details>x</details> and <think>y</think>."
    assert (result.status, result.details) == ("completed", "")
    assert "".join(e.text for e in events if isinstance(e, ThoughtDelta)) == result.thoughts
    assert "".join(e.text for e in events if isinstance(e, TextDelta)) == result.text


@given(st.lists(st.integers(0, len(TAGGED_ARRAY)), max_size=20))
async def test_tags_inside_array_are_kept_as_text_for_any_chunks(places: list[int]) -> None:
    result, _ = await consume_turn(
        chunk_stream(*split_text(TAGGED_ARRAY, places), [Done("stop")]),
        lesson_parser=LessonTurnParser("student", EMPTY_BOARD),
    )
    assert result.text == "Write <details>x</details> and <think>y</think>."
    assert (result.thoughts, result.details) == ("", "")


async def test_provider_thoughts_are_not_part_of_lesson_turn() -> None:
    result, _ = await consume_turn(
        chunk_stream([Thought("Hm [")], [Text(TAGGED_ARRAY), Done("stop")]),
        lesson_parser=LessonTurnParser("student", EMPTY_BOARD),
    )
    assert (result.thoughts, result.text[:5]) == ("Hm [", "Write")


async def test_stopped_lesson_turn_keeps_performed_items() -> None:
    stop = StopSignal()

    async def words() -> AsyncGenerator[list[Chunk], None]:
        yield [Text(f'[{OPEN_ITEM},{{"type":"text","content":"And th')]
        stop.request_stop()
        await asyncio.Event().wait()

    result, _ = await consume_turn(words(), stop=stop, lesson_parser=LessonTurnParser("student", EMPTY_BOARD))
    assert result.status == "stopped_by_user"
    assert result.lesson_items == f'[{OPEN_ITEM},{{"type":"text","content":"And th"}}]'
