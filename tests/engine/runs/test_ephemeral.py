"""A run that nobody keeps: read as it comes, stopped when its reader leaves, and paid for all that was said."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from unittest.mock import MagicMock

import pytest

from moot.engine.runs import ephemeral as module
from moot.engine.runs.ephemeral import (
    MAX_QUEUED_BATCHES,
    EphemeralRun,
    EphemeralRuns,
    MemoryStream,
    check_files,
)
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge
from moot.types.discussions import Message
from moot.types.errors import OverBudget, UsageError
from moot.types.events import Event, RunEnded, TextDelta, TurnEnded
from moot.types.participants import make_participants
from moot.types.requests import File, assistant_message, user_message
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
    """Let everybody go on as far as they can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_memory_stream_delivers_all_batches_in_order_to_end(memory_stream: MemoryStream[int]) -> None:
    telling = asyncio.create_task(send_all(memory_stream, *range(3 * MAX_QUEUED_BATCHES)))
    read = [number async for some in memory_stream.receive_batches() for number in some]
    await telling
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
    telling = asyncio.create_task(send_all(memory_stream, *range(MAX_QUEUED_BATCHES + 1)))
    await run_pending_tasks()
    assert memory_stream._queue.qsize() == MAX_QUEUED_BATCHES
    assert not telling.done()
    async with aclosing(memory_stream.receive_batches()) as reading:
        assert await anext(reading) == [0]
        await run_pending_tasks()
        assert memory_stream._queue.qsize() == MAX_QUEUED_BATCHES
    async with asyncio.timeout(60):
        await telling


async def test_memory_stream_does_not_block_sender_after_reader_left(
    memory_stream: MemoryStream[int],
) -> None:
    telling = asyncio.create_task(send_all(memory_stream, *range(3 * MAX_QUEUED_BATCHES)))
    async with aclosing(memory_stream.receive_batches()) as reading:
        await anext(reading)
    async with asyncio.timeout(60):
        await telling
    assert memory_stream._queue.qsize() <= 1


async def test_send_end_waits_until_everything_was_read(memory_stream: MemoryStream[int]) -> None:
    telling = asyncio.create_task(send_all(memory_stream, 1))
    async with aclosing(memory_stream.receive_batches()) as reading:
        assert await anext(reading) == [1]
        await run_pending_tasks()
        assert not telling.done(), "the reader has not come back"
        with pytest.raises(StopAsyncIteration):
            await anext(reading)
    await telling


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
    plan = RunPlan(mode="parallel" if len(scripts) > 1 else "single", participants=participants, introduced=False)
    return EphemeralRun(plan=plan, question=user_message("Why?"), chains=chains, earlier=earlier)


async def wait_until_finished(ephemeral_runs: EphemeralRuns) -> None:
    async with asyncio.timeout(60):
        while len(ephemeral_runs):
            await asyncio.sleep(0.001)


async def test_stream_sends_events_as_they_come_and_records_charges_per_turn() -> None:
    sittings, till = EphemeralRuns(MODEL_CALLER), FakeBudgetGuard()
    heard: list[Event] = [e async for some in sittings.stream(make_ephemeral_run("echo", "echo"), till) for e in some]
    assert isinstance(heard[-1], RunEnded)
    assert [event.seq for event in heard] == list(range(1, len(heard) + 1))
    assert [charge.purpose for charge in till.charges] == ["answer", "answer"]
    await wait_until_finished(sittings)


async def test_stream_includes_earlier_messages_in_prompt() -> None:
    provider = RecordingProvider({})
    said = (
        Message(id="m1", discussion="", run="earlier/1", role="user", content="One?", number=1),
        Message(
            id="m2",
            discussion="",
            run="earlier/1",
            role="assistant",
            content="Yes.",
            participant="alpha",
            number=2,
        ),
    )
    async for _ in EphemeralRuns(MODEL_CALLER).stream(make_ephemeral_run("echo", provider=provider, earlier=said)):
        pass
    (asked,) = provider.requests
    assert asked.messages == (user_message("One?"), assistant_message("Yes."), user_message("Why?"))


async def test_stream_stops_run_and_records_charges_when_reader_leaves() -> None:
    sittings, till = EphemeralRuns(MODEL_CALLER), FakeBudgetGuard()
    async with asyncio.timeout(60), aclosing(sittings.stream(make_ephemeral_run("endless"), till)) as told:
        async for some in told:
            if any(isinstance(event, TextDelta) for event in some):
                break
    await wait_until_finished(sittings)
    assert len(till.charges) == 1


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
    sittings = EphemeralRuns(MODEL_CALLER)
    last: list[Event] = []
    async with asyncio.timeout(60):
        async for some in sittings.stream(make_ephemeral_run("endless")):
            last = some or last
            if any(isinstance(event, TextDelta) for event in some):
                closing = asyncio.create_task(sittings.close())
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
