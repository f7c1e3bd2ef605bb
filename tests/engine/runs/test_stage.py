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
    async def test_when_enough_have_answered_the_others_are_late(self) -> None:
        here, late = create_barrier(quorum=2)
        here.record_turn_end("beta", "completed")
        assert late.calls == []
        here.record_turn_end("alpha", "partial")
        assert late.calls == [["gamma"]]

    @pytest.mark.parametrize("status", ["failed", "stopped", "interrupted"])
    async def test_whoever_did_not_answer_does_not_count(self, status: TurnStatus) -> None:
        here, late = create_barrier(quorum=1)
        here.record_turn_end("alpha", status)
        assert late.calls == []

    async def test_one_who_ends_twice_counts_once(self) -> None:
        here, late = create_barrier(quorum=2)
        here.record_turn_end("alpha", "completed")
        here.record_turn_end("alpha", "completed")
        assert late.calls == []

    async def test_without_a_quorum_nobody_is_late(self) -> None:
        here, late = create_barrier()
        for who in ("alpha", "beta", "gamma"):
            here.record_turn_end(who, "completed")
        assert late.calls == []

    async def test_the_last_one_is_never_late(self) -> None:
        here, late = create_barrier(quorum=3)
        for who in ("alpha", "beta", "gamma"):
            here.record_turn_end(who, "completed")
        assert late.calls == []


class TestDeadline:
    async def test_when_the_time_is_over_all_who_still_speak_are_late(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(0.01):
            here.record_turn_end("beta", "completed")
            await late.called.wait()
        assert late.calls == [["alpha", "gamma"]]

    async def test_what_ends_in_time_has_no_late_ones(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(0.01):
            for who in ("alpha", "beta", "gamma"):
                here.record_turn_end(who, "completed")
        await asyncio.sleep(0.03)
        assert late.calls == []

    async def test_without_a_deadline_there_is_no_hurry(self) -> None:
        here, late = create_barrier()
        with here.with_deadline(None):
            await asyncio.sleep(0)
        assert late.calls == []


class TestRetry:
    async def test_whoever_failed_waits_as_long_as_others_speak(self) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        here.record_turn_end("beta", "completed")
        assert not again.done()
        here.record_turn_end("gamma", "failed")
        assert await again is False
        assert await here.wait_for_retry("gamma") is False

    async def test_who_waits_can_be_told_to_try_again_and_is_waited_for_then(self) -> None:
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
    async def test_nobody_else_may(self, who: str) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        assert not here.can_retry(who)
        again.cancel()

    async def test_one_whose_wait_was_cut_off_disturbs_nobody(self) -> None:
        here, _ = create_barrier()
        here.record_turn_end("alpha", "failed")
        again = await start_waiting(here, "alpha")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        assert not here.can_retry("alpha")
        here.record_turn_end("beta", "completed")
        here.record_turn_end("gamma", "completed")
