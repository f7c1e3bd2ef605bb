import asyncio
from collections.abc import Collection

import pytest

from moot.engine.runs.table import QuorumBarrier
from moot.types.events import TurnStatus


class LateRecorder:
    """Records the late participants of each call."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.called = asyncio.Event()

    def __call__(self, participants: Collection[str]) -> None:
        self.calls.append(sorted(participants))
        self.called.set()


def create_barrier(quorum: int | None = None) -> tuple[QuorumBarrier, LateRecorder]:
    late = LateRecorder()
    return QuorumBarrier(["alpha", "beta", "gamma"], quorum, late), late


async def start_waiting(barrier: QuorumBarrier, participant: str) -> "asyncio.Task[bool]":
    task = asyncio.create_task(barrier.wait_for_retry(participant))
    await asyncio.sleep(0)
    return task


class TestQuorum:
    async def test_remaining_participants_are_late_when_quorum_is_reached(self) -> None:
        barrier, late = create_barrier(quorum=2)
        barrier.record_turn_end("beta", "completed")
        assert late.calls == []
        barrier.record_turn_end("alpha", "partial")
        assert late.calls == [["gamma"]]

    @pytest.mark.parametrize("status", ["failed", "stopped", "interrupted"])
    async def test_participant_without_answer_does_not_count(self, status: TurnStatus) -> None:
        barrier, late = create_barrier(quorum=1)
        barrier.record_turn_end("alpha", status)
        assert late.calls == []

    async def test_participant_that_ends_twice_counts_once(self) -> None:
        barrier, late = create_barrier(quorum=2)
        barrier.record_turn_end("alpha", "completed")
        barrier.record_turn_end("alpha", "completed")
        assert late.calls == []

    async def test_no_participant_is_late_without_quorum(self) -> None:
        barrier, late = create_barrier()
        for who in ("alpha", "beta", "gamma"):
            barrier.record_turn_end(who, "completed")
        assert late.calls == []

    async def test_last_participant_is_never_late(self) -> None:
        barrier, late = create_barrier(quorum=3)
        for who in ("alpha", "beta", "gamma"):
            barrier.record_turn_end(who, "completed")
        assert late.calls == []


class TestDeadline:
    async def test_unfinished_participants_are_late_at_deadline(self) -> None:
        barrier, late = create_barrier()
        with barrier.with_deadline(0.01):
            barrier.record_turn_end("beta", "completed")
            await late.called.wait()
        assert late.calls == [["alpha", "gamma"]]

    async def test_no_participant_is_late_when_all_end_before_deadline(self) -> None:
        barrier, late = create_barrier()
        with barrier.with_deadline(0.01):
            for who in ("alpha", "beta", "gamma"):
                barrier.record_turn_end(who, "completed")
        await asyncio.sleep(0.03)
        assert late.calls == []

    async def test_no_participant_is_late_without_deadline(self) -> None:
        barrier, late = create_barrier()
        with barrier.with_deadline(None):
            await asyncio.sleep(0)
        assert late.calls == []


class TestRetry:
    async def test_failed_participant_waits_for_retry_until_all_others_end(self) -> None:
        barrier, _ = create_barrier()
        barrier.record_turn_end("alpha", "failed")
        again = await start_waiting(barrier, "alpha")
        barrier.record_turn_end("beta", "completed")
        assert not again.done()
        barrier.record_turn_end("gamma", "failed")
        assert await again is False
        assert await barrier.wait_for_retry("gamma") is False

    async def test_retried_participant_is_waited_for(self) -> None:
        barrier, _ = create_barrier()
        barrier.record_turn_end("alpha", "failed")
        again = await start_waiting(barrier, "alpha")
        assert barrier.can_retry("alpha")
        barrier.retry_participant("alpha")
        assert await again is True
        assert not barrier.can_retry("alpha")
        barrier.record_turn_end("beta", "failed")
        barrier.record_turn_end("gamma", "completed")
        other = await start_waiting(barrier, "beta")
        assert not other.done(), "alpha speaks once more"
        barrier.record_turn_end("alpha", "completed")
        assert await other is False

    @pytest.mark.parametrize("who", ["beta", "omega"])
    async def test_only_failed_participant_can_be_retried(self, who: str) -> None:
        barrier, _ = create_barrier()
        barrier.record_turn_end("alpha", "failed")
        again = await start_waiting(barrier, "alpha")
        assert not barrier.can_retry(who)
        again.cancel()

    async def test_cancelled_retry_wait_does_not_disturb_others(self) -> None:
        barrier, _ = create_barrier()
        barrier.record_turn_end("alpha", "failed")
        again = await start_waiting(barrier, "alpha")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        assert not barrier.can_retry("alpha")
        barrier.record_turn_end("beta", "completed")
        barrier.record_turn_end("gamma", "completed")
