"""Runs that are not stored: streamed, stopped when the reader leaves, and charged for all output."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from unittest.mock import MagicMock

import pytest

from moot.engine.runs import ephemeral as module
from moot.engine.runs.ephemeral import (
    MAX_QUEUED_BATCHES,
    EphemeralRun,
    EphemeralRuns,
    MemoryStream,
    RunLog,
    check_files,
)
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import build_question
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.errors import OverBudget, UsageError
from moot.types.events import Event, RunEnded, RunStarted, TextDelta, TurnEnded
from moot.types.model_info import Profile
from moot.types.participants import Participant, make_participants
from moot.types.requests import File, ModelMessage, assistant_message, user_message
from moot.types.run_plan import RunPlan
from moot.types.streams import HEARTBEAT
from tests.support.table_harness import MODEL_CALLER, RecordingProvider


@pytest.fixture
def memory_stream() -> MemoryStream[int]:
    return MemoryStream()


async def send_all(memory_stream: MemoryStream[int], *numbers: int) -> None:
    for number in numbers:
        await memory_stream.send_batch([number])
    await memory_stream.send_end()


async def run_pending_tasks() -> None:
    """Let all tasks run until they wait."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_memory_stream_delivers_all_batches_in_order_to_end(memory_stream: MemoryStream[int]) -> None:
    sending = asyncio.create_task(send_all(memory_stream, *range(3 * MAX_QUEUED_BATCHES)))
    read = [number async for some in memory_stream.receive_batches() for number in some]
    await sending
    assert read == list(range(3 * MAX_QUEUED_BATCHES))


async def test_memory_stream_sends_heartbeat_to_waiting_reader(
    memory_stream: MemoryStream[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    async with aclosing(memory_stream.receive_batches()) as reading:
        assert await anext(reading) is HEARTBEAT
        assert await anext(reading) is HEARTBEAT
        await memory_stream.send_batch([1])
        assert [1] in [await anext(reading), await anext(reading)], "and misses nothing"


async def test_memory_stream_blocks_sender_when_queue_is_full(memory_stream: MemoryStream[int]) -> None:
    sending = asyncio.create_task(send_all(memory_stream, *range(MAX_QUEUED_BATCHES + 1)))
    await run_pending_tasks()
    assert memory_stream._queue.qsize() == MAX_QUEUED_BATCHES
    assert not sending.done()
    async with aclosing(memory_stream.receive_batches()) as reading:
        assert await anext(reading) == [0]
        await run_pending_tasks()
        assert memory_stream._queue.qsize() == MAX_QUEUED_BATCHES
    async with asyncio.timeout(60):
        await sending


async def test_memory_stream_does_not_block_sender_after_reader_left(
    memory_stream: MemoryStream[int],
) -> None:
    sending = asyncio.create_task(send_all(memory_stream, *range(3 * MAX_QUEUED_BATCHES)))
    async with aclosing(memory_stream.receive_batches()) as reading:
        await anext(reading)
    async with asyncio.timeout(60):
        await sending
    assert memory_stream._queue.qsize() <= 1


async def test_send_end_waits_until_everything_was_read(memory_stream: MemoryStream[int]) -> None:
    sending = asyncio.create_task(send_all(memory_stream, 1))
    async with aclosing(memory_stream.receive_batches()) as reading:
        assert await anext(reading) == [1]
        await run_pending_tasks()
        assert not sending.done(), "the reader has not come back"
        with pytest.raises(StopAsyncIteration):
            await anext(reading)
    await sending


async def test_receive_batches_ends_when_sender_was_lost(
    memory_stream: MemoryStream[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "POLL_SECONDS", 0.001)
    await memory_stream.send_batch([1])
    memory_stream.close()
    assert [some async for some in memory_stream.receive_batches()] == [[1]]


class FakeBudgetGuard:
    def __init__(self, *, spent: bool = False) -> None:
        self.charges: list[Charge] = []
        self._is_spent = spent

    @asynccontextmanager
    async def within_budget(self) -> AsyncIterator[None]:
        if self._is_spent:
            raise OverBudget("Nothing is left.")
        yield

    async def record_charges(self, charges: Sequence[Charge]) -> None:
        self.charges += charges


def make_ephemeral_run(
    *scripts: str, provider: RecordingProvider | None = None, earlier: tuple[Message, ...] = ()
) -> EphemeralRun:
    provider = provider or RecordingProvider({})
    participants = make_participants(scripts)
    chains = {who.id: (ResolvedModel(who.model, provider, who.model, KeyRing(())),) for who in participants}
    plan = RunPlan(mode="parallel" if len(scripts) > 1 else "single", participants=participants, knows_others=False)
    return EphemeralRun(plan=plan, question=user_message("Why?"), chains=chains, earlier=earlier)


async def wait_until_finished(ephemeral_runs: EphemeralRuns) -> None:
    async with asyncio.timeout(60):
        while len(ephemeral_runs):
            await asyncio.sleep(0.001)


async def test_stream_sends_events_as_they_come_and_records_charges_per_turn() -> None:
    ephemeral_runs, budget_guard = EphemeralRuns(MODEL_CALLER), FakeBudgetGuard()
    events: list[Event] = [
        e async for some in ephemeral_runs.stream(make_ephemeral_run("echo", "echo"), budget_guard) for e in some
    ]
    assert isinstance(events[-1], RunEnded)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [charge.purpose for charge in budget_guard.charges] == ["answer", "answer"]
    await wait_until_finished(ephemeral_runs)


async def test_stream_includes_earlier_messages_in_prompt() -> None:
    provider = RecordingProvider({})
    earlier = (
        Message(id="m1", discussion="", run="earlier/1", role="user", content="One?", seq=1),
        Message(
            id="m2",
            discussion="",
            run="earlier/1",
            role="assistant",
            content="Yes.",
            participant="alpha",
            seq=2,
        ),
    )
    async for _ in EphemeralRuns(MODEL_CALLER).stream(make_ephemeral_run("echo", provider=provider, earlier=earlier)):
        pass
    (asked,) = provider.requests
    assert asked.messages == (user_message("One?"), assistant_message("Yes."), user_message("Why?"))


async def test_stream_stops_run_and_records_charges_when_reader_leaves() -> None:
    ephemeral_runs, budget_guard = EphemeralRuns(MODEL_CALLER), FakeBudgetGuard()
    async with (
        asyncio.timeout(60),
        aclosing(ephemeral_runs.stream(make_ephemeral_run("endless"), budget_guard)) as stream,
    ):
        async for some in stream:
            if any(isinstance(event, TextDelta) for event in some):
                break
    await wait_until_finished(ephemeral_runs)
    assert len(budget_guard.charges) == 1


async def test_stopped_run_streams_to_its_end() -> None:
    stop = StopSignal()
    turns: list[str] = []
    async for some in EphemeralRuns(MODEL_CALLER).stream(make_ephemeral_run("endless"), stop=stop):
        turns += [event.status for event in some if isinstance(event, TurnEnded)]
        if any(isinstance(event, TextDelta) for event in some):
            stop.request_stop()
    assert turns == ["stopped"]


async def test_stream_makes_no_call_when_budget_is_spent() -> None:
    provider = RecordingProvider({})
    with pytest.raises(OverBudget):
        async for _ in EphemeralRuns(MODEL_CALLER).stream(
            make_ephemeral_run("echo", provider=provider), FakeBudgetGuard(spent=True)
        ):
            pass
    assert provider.requests == []


async def test_close_ends_streams_with_stopped_run() -> None:
    ephemeral_runs = EphemeralRuns(MODEL_CALLER)
    last: list[Event] = []
    async with asyncio.timeout(60):
        async for some in ephemeral_runs.stream(make_ephemeral_run("endless")):
            last = some or last
            if any(isinstance(event, TextDelta) for event in some):
                closing = asyncio.create_task(ephemeral_runs.close())
        await closing
    assert isinstance(last[-1], RunEnded)
    assert last[-1].status == "stopped"


def test_check_files_rejects_file_that_a_participant_cannot_read() -> None:
    def model(*kinds: str) -> MagicMock:
        resolved = MagicMock()
        resolved.name = "lab/model"
        resolved.provider.model_profile.return_value.files = kinds
        return resolved

    plan = RunPlan(mode="parallel", participants=make_participants(("lab/one", "lab/two")))
    cat = File("cat.png", "image/png", b"")
    chains = {"alpha": [model("text", "image")], "beta": [model("text")]}
    with pytest.raises(UsageError, match=r"Beta \(lab/model\) takes no image files such as cat.png"):
        check_files(plan, chains, [cat])
    check_files(plan, chains, [])
    check_files(plan, chains | {"beta": [model("image")]}, [cat])


QUESTION = user_message("What is a moot?")


async def run_question(
    *names: str,
    mode: str = "parallel",
    stop: StopSignal | None = None,
    message: ModelMessage = QUESTION,
    provider: RecordingProvider | None = None,
    on_events: Callable[[list[Event]], None] = lambda _: None,
) -> list[Event]:
    """Run a question with scripts of these names and return the events. `on_events` is called after each batch."""
    events: list[Event] = []
    provider = provider or RecordingProvider({})

    def reader(more: Sequence[Event]) -> None:
        events.extend(more)
        on_events(events)

    participants = make_participants(names)
    chains = {who.id: (ResolvedModel(who.model, provider, who.model, KeyRing(())),) for who in participants}
    plan = RunPlan(mode=mode, participants=participants, knows_others=False)
    run = EphemeralRun(plan=plan, question=message, chains=chains)
    ended = await run.execute(RunLog(reader), ModelCaller(backoff_seconds=0.001), stop or StopSignal())
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunEnded)
    assert events[-1].status == ended.status
    return events


def turn_statuses(events: list[Event]) -> dict[str, str]:
    return {event.participant: event.status for event in events if isinstance(event, TurnEnded)}


def final_status(events: list[Event]) -> str:
    return events[-1].status if isinstance(events[-1], RunEnded) else "not ended"


async def test_parallel_turns_interleave_and_event_numbers_have_no_gaps() -> None:
    events = await run_question("steady", "steady", "echo")
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    speakers = [event.participant for event in events if isinstance(event, TextDelta)]
    assert speakers[:6] != sorted(speakers[:6])  # interleaved
    assert turn_statuses(events) == {"alpha": "completed", "beta": "completed", "gamma": "completed"}


async def test_failed_lane_does_not_affect_other_lanes() -> None:
    events = await run_question("unauthorized", "echo", "reset")
    assert turn_statuses(events) == {"alpha": "failed", "beta": "completed", "gamma": "partial"}
    assert final_status(events) == "completed"


async def test_run_fails_only_when_all_participants_failed() -> None:
    assert final_status(await run_question("unauthorized", "forbidden")) == "failed"


async def test_stop_ends_all_turns_and_keeps_text_so_far() -> None:
    stop = StopSignal()

    def stopping(events: list[Event]) -> None:
        if "gamma" in turn_statuses(events) and any(
            isinstance(one, TextDelta) and one.participant == "alpha" for one in events
        ):
            stop.request_stop()

    events = await run_question("steady", "silence", "echo", stop=stop, on_events=stopping)
    assert turn_statuses(events) == {"alpha": "stopped", "beta": "stopped", "gamma": "completed"}
    assert final_status(events) == "stopped"
    (stopped,) = [e for e in events if isinstance(e, TurnEnded) and e.participant == "alpha"]
    assert stopped.message.text == "".join(
        event.text for event in events if isinstance(event, TextDelta) and event.participant == "alpha"
    )


async def test_every_turn_ends_once_and_after_its_text() -> None:
    events = await run_question("steady", "flaky", "unauthorized", mode="consensus")
    turns = [(e.round, e.participant) for e in events if isinstance(e, TurnEnded)]
    assert turns == [(round_, who) for round_ in range(2) for who in ("alpha", "beta", "gamma")]
    ended: set[tuple[int, str]] = set()
    for event in events:
        if isinstance(event, TextDelta):
            assert (event.round, event.participant) not in ended
        if isinstance(event, TurnEnded):
            ended.add((event.round, event.participant))


async def test_question_is_sent_unchanged() -> None:
    provider = RecordingProvider({})
    asked = build_question("What is it?", "one\ntwo", [File("cat.png", "image/png", b"\x89PNG")])
    await run_question("echo", "echo", message=asked, provider=provider)
    assert [request.messages for request in provider.requests] == [(asked,), (asked,)]
    assert {request.system for request in provider.requests} == {""}


async def test_later_rounds_keep_material_with_the_question() -> None:
    provider = RecordingProvider({})
    asked = build_question("What is it?", "one\ntwo")
    await run_question("echo", "echo", mode="consensus", message=asked, provider=provider)
    first, _, again, _ = provider.requests
    assert first.messages == (asked,)
    assert again.messages[:2] == (asked, assistant_message(_message_text(asked)))


def _message_text(message: ModelMessage) -> str:
    return "\n\n".join(part.text for part in message.parts if isinstance(part, Text))


@pytest.mark.parametrize("mode", ["single", "parallel", "consensus"])
async def test_single_model_completes_in_any_mode(mode: str) -> None:
    assert final_status(await run_question("echo", mode=mode)) == "completed"


async def test_first_participant_answers_plainly_when_no_advisor_is_active() -> None:
    provider = RecordingProvider({"any": Script(answer="Four.")})
    who = Participant("alpha", "Alpha", "any", active=False)
    plan = RunPlan(mode="advisors", participants=(who,), personas={"alpha": "You are a carpenter."})
    chains = {"alpha": (ResolvedModel("any", provider, "any", KeyRing(())),)}
    events: list[Event] = []
    run = EphemeralRun(plan=plan, question=user_message("Two and two?"), chains=chains)
    await run.execute(RunLog(events.extend), ModelCaller(), StopSignal())
    assert turn_statuses(events) == {"alpha": "completed"}
    (asked,) = provider.requests
    assert (asked.system, asked.messages) == ("", (user_message("Two and two?"),))


async def test_advisor_prompt_has_time_of_question_and_fits_context_window() -> None:
    provider = SmallContextProvider({})
    await run_question("echo", mode="advisors", provider=provider, message=build_question("What now?", "word " * 9000))
    (asked,) = provider.requests
    (words,) = [part.text for part in asked.messages[-1].parts if isinstance(part, Text)][-1:]
    assert re.fullmatch(r"\[20\d\d-\d\d-\d\d \d\d:\d\d\] What now\?", words)
    assert provider.profiled_models == ["echo"]


class SmallContextProvider(RecordingProvider):
    """A provider with a small context window."""

    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__(scripts)
        self.profiled_models: list[str] = []

    def model_profile(self, model: str) -> Profile:
        self.profiled_models.append(model)
        return Profile(context=2048)


async def test_run_log_numbers_events_without_gaps_and_adds_times() -> None:
    read: list[Event] = []

    def reader(events: Sequence[Event]) -> None:
        read.extend(events)

    log = RunLog(reader)
    await log.append_events([RunStarted(participants=())])
    await log.append_events([RunEnded(status="completed"), RunEnded(status="completed")])
    assert [event.seq for event in read] == [1, 2, 3]
    assert {event.run for event in read} == {log.run}
    assert all(event.at > 0 for event in read)
    assert [event.at for event in read] == sorted(event.at for event in read)


async def test_run_log_waits_for_slow_reader() -> None:
    read: list[Event] = []

    async def reader(events: Sequence[Event]) -> None:
        await asyncio.sleep(0)
        read.extend(events)

    await RunLog(reader).append_events([RunStarted(participants=())])
    assert len(read) == 1
