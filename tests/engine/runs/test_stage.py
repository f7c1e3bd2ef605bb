import asyncio
from collections.abc import Collection

import pytest

from moot.engine.runs.stage import QuorumBarrier
from moot.types.events import TurnStatus


class LateRecorder:
    """Notes who was not waited for any more, each time that was told."""

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
        here, late = create_barrier(quorum=2)
        here.record_turn_end("beta", "completed")
        assert late.calls == []
        here.record_turn_end("alpha", "partial")
        assert late.calls == [["gamma"]]

    @pytest.mark.parametrize("status", ["failed", "stopped", "interrupted"])
    async def test_participant_without_answer_does_not_count(self, status: TurnStatus) -> None:
        here, late = create_barrier(quorum=1)
        here.record_turn_end("alpha", status)
        assert late.calls == []

    async def test_participant_that_ends_twice_counts_once(self) -> None:
        here, late = create_barrier(quorum=2)
        here.record_turn_end("alpha", "completed")
        here.record_turn_end("alpha", "completed")
        assert late.calls == []

    async def test_nobody_is_late_without_quorum(self) -> None:
        here, late = create_barrier()
        for who in ("alpha", "beta", "gamma"):
            here.record_turn_end(who, "completed")
        assert late.calls == []

    async def test_last_participant_is_never_late(self) -> None:
        here, late = create_barrier(quorum=3)
        for who in ("alpha", "beta", "gamma"):
            here.record_turn_end(who, "completed")
        assert late.calls == []


class TestDeadline:
    async def test_unfinished_participants_are_late_at_deadline(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(0.01):
            here.record_turn_end("beta", "completed")
            await late.called.wait()
        assert late.calls == [["alpha", "gamma"]]

    async def test_nobody_is_late_when_all_end_before_deadline(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(0.01):
            for who in ("alpha", "beta", "gamma"):
                here.record_turn_end(who, "completed")
        await asyncio.sleep(0.03)
        assert late.calls == []

    async def test_nobody_is_late_without_deadline(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(None):
            await asyncio.sleep(0)
        assert late.calls == []


class TestRetry:
    async def test_failed_participant_waits_for_retry_until_all_others_end(self) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        here.record_turn_end("beta", "completed")
        assert not again.done()
        here.record_turn_end("gamma", "failed")
        assert await again is False
        assert await here.wait_for_retry("gamma") is False

    async def test_retried_participant_is_waited_for(self) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        assert here.can_retry("alpha")
        here.retry_participant("alpha")
        assert await again is True
        assert not here.can_retry("alpha")
        here.record_turn_end("beta", "failed")
        here.record_turn_end("gamma", "completed")
        other = await start_waiting(here, "beta")
        assert not other.done(), "alpha speaks once more"
        here.record_turn_end("alpha", "completed")
        assert await other is False

    @pytest.mark.parametrize("who", ["beta", "omega"])
    async def test_only_failed_participant_can_be_retried(self, who: str) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        assert not here.can_retry(who)
        again.cancel()

    async def test_cancelled_retry_wait_does_not_disturb_others(self) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        assert not here.can_retry("alpha")
        here.record_turn_end("beta", "completed")
        here.record_turn_end("gamma", "completed")
