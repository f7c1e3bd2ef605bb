import asyncio
from collections.abc import Collection

import pytest

from moot.engine.runs.stage import Stage
from moot.types.events import TurnStatus


class Late:
    """Notes who was not waited for any more, each time that was told."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.called = asyncio.Event()

    def __call__(self, participants: Collection[str]) -> None:
        self.calls.append(sorted(participants))
        self.called.set()


def stage(quorum: int | None = None) -> tuple[Stage, Late]:
    late = Late()
    return Stage(["alpha", "beta", "gamma"], quorum, late), late


async def waiting(here: Stage, who: str) -> "asyncio.Task[bool]":
    task = asyncio.create_task(here.is_to_try_again(who))
    await asyncio.sleep(0)
    return task


class TestQuorum:
    async def test_when_enough_have_answered_the_others_are_late(self) -> None:
        here, late = stage(quorum=2)
        here.ended("beta", "completed")
        assert late.calls == []
        here.ended("alpha", "partial")
        assert late.calls == [["gamma"]]

    @pytest.mark.parametrize("status", ["failed", "stopped", "interrupted"])
    async def test_whoever_did_not_answer_does_not_count(self, status: TurnStatus) -> None:
        here, late = stage(quorum=1)
        here.ended("alpha", status)
        assert late.calls == []

    async def test_one_who_ends_twice_counts_once(self) -> None:
        here, late = stage(quorum=2)
        here.ended("alpha", "completed")
        here.ended("alpha", "completed")
        assert late.calls == []

    async def test_without_a_quorum_nobody_is_late(self) -> None:
        here, late = stage()
        for who in ("alpha", "beta", "gamma"):
            here.ended(who, "completed")
        assert late.calls == []

    async def test_the_last_one_is_never_late(self) -> None:
        here, late = stage(quorum=3)
        for who in ("alpha", "beta", "gamma"):
            here.ended(who, "completed")
        assert late.calls == []


class TestDeadline:
    async def test_when_the_time_is_over_all_who_still_speak_are_late(self) -> None:
        here, late = stage()
        with here.within(0.01):
            here.ended("beta", "completed")
            await late.called.wait()
        assert late.calls == [["alpha", "gamma"]]

    async def test_what_ends_in_time_has_no_late_ones(self) -> None:
        here, late = stage()
        with here.within(0.01):
            for who in ("alpha", "beta", "gamma"):
                here.ended(who, "completed")
        await asyncio.sleep(0.03)
        assert late.calls == []

    async def test_without_a_deadline_there_is_no_hurry(self) -> None:
        here, late = stage()
        with here.within(None):
            await asyncio.sleep(0)
        assert late.calls == []


class TestTryingAgain:
    async def test_whoever_failed_waits_as_long_as_others_speak(self) -> None:
        here, _ = stage()
        here.ended("alpha", "failed")
        again = await waiting(here, "alpha")
        here.ended("beta", "completed")
        assert not again.done()
        here.ended("gamma", "failed")
        assert await again is False
        assert await here.is_to_try_again("gamma") is False

    async def test_who_waits_can_be_told_to_try_again_and_is_waited_for_then(self) -> None:
        here, _ = stage()
        here.ended("alpha", "failed")
        again = await waiting(here, "alpha")
        assert here.may_try_again("alpha")
        here.try_again("alpha")
        assert await again is True
        assert not here.may_try_again("alpha")
        here.ended("beta", "failed")
        here.ended("gamma", "completed")
        other = await waiting(here, "beta")
        assert not other.done(), "alpha speaks once more"
        here.ended("alpha", "completed")
        assert await other is False

    @pytest.mark.parametrize("who", ["beta", "omega"])
    async def test_nobody_else_may(self, who: str) -> None:
        here, _ = stage()
        here.ended("alpha", "failed")
        again = await waiting(here, "alpha")
        assert not here.may_try_again(who)
        again.cancel()

    async def test_one_whose_wait_was_cut_off_disturbs_nobody(self) -> None:
        here, _ = stage()
        here.ended("alpha", "failed")
        again = await waiting(here, "alpha")
        again.cancel()
        await asyncio.gather(again, return_exceptions=True)
        assert not here.may_try_again("alpha")
        here.ended("beta", "completed")
        here.ended("gamma", "completed")
