import asyncio

import pytest

from moot import Moot, ProviderError, Result, RunHandle, UsageError
from moot.sdk.run import build_result
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.events import Answer, Notice, RunEnded, RunStarted, TextDelta, TurnEnded, TurnStatus
from moot.types.participants import make_participants
from moot.types.run_state import fold_events


def turn_ended(participant: str, text: str, stage: str = "answer", status: TurnStatus = "completed") -> TurnEnded:
    return TurnEnded(
        participant=participant,
        stage=stage,
        round=0,
        status=status,
        message=Answer(text=text),
        model="x/y",
        usage=Usage(input=1, output=2),
        cost_usd=0.5,
    )


def result_of_turns(*turns: TurnEnded | Notice) -> Result:
    started = RunStarted(participants=make_participants(("x/y", "x/y")))
    return build_result(fold_events([started, *turns, RunEnded(status="completed")]))


def test_result_text_of_debate_is_its_synthesis() -> None:
    result = result_of_turns(
        turn_ended("alpha", "Old.", "initial"),
        turn_ended("alpha", "New.", "debate"),
        turn_ended("beta", "All.", "synthesis"),
    )
    assert (result.text, result.synthesis, result.answers) == ("All.", "All.", {"Alpha": "New."})


def test_result_text_names_speakers_only_when_there_are_several() -> None:
    assert result_of_turns(turn_ended("alpha", "Yes."), turn_ended("beta", "No.")).text == "Alpha:\nYes.\n\nBeta:\nNo."
    assert result_of_turns(turn_ended("alpha", "Yes."), turn_ended("beta", "", status="failed")).text == "Yes."


def test_text_before_a_stop_is_an_answer() -> None:
    result = result_of_turns(turn_ended("alpha", "Half", status="stopped"), turn_ended("beta", "", status="stopped"))
    assert (result.text, result.answers) == ("Half", {"Alpha": "Half"})


def test_stop_before_first_text_keeps_earlier_answer() -> None:
    result = result_of_turns(turn_ended("alpha", "Old.", "initial"), turn_ended("alpha", "", "debate", "stopped"))
    assert result.answers == {"Alpha": "Old."}


def test_result_sums_usage_and_cost_of_all_charges() -> None:
    failed_charge = Charge(purpose="summary", model="x/y", usage=Usage(input=10), cost_usd=1.0)
    result = result_of_turns(turn_ended("alpha", "Yes."), Notice(kind="missing", message="None.", charge=failed_charge))
    assert (result.usage, result.cost_usd, result.notices) == (Usage(input=11, output=2), 1.5, ("None.",))


def test_unknown_price_makes_cost_unknown() -> None:
    failed_charge = Charge(purpose="summary", model="x/y", usage=Usage(), cost_usd=None)
    assert (
        result_of_turns(turn_ended("alpha", "Yes."), Notice(kind="missing", message="", charge=failed_charge)).cost_usd
        is None
    )


async def test_run_handle_streams_events_and_then_has_result() -> None:
    async with Moot() as moot:
        run = moot.ask("Why?", ["scripted/echo"])
        with pytest.raises(UsageError, match="not ended"):
            assert run.result
        events = [event async for event in run]
        assert (type(events[0]), type(events[-1])) == (RunStarted, RunEnded)
        assert run.result.text == (await run).text == "Why?"
        with pytest.raises(UsageError, match="read already"):
            async for _ in run:
                pass


async def wait_for_result(run_handle: RunHandle) -> Result:
    return await run_handle


async def test_concurrent_readers_of_run_handle_are_rejected() -> None:
    async with Moot() as moot:
        run = moot.ask("Why?", ["scripted/echo"])
        first, second = await asyncio.gather(wait_for_result(run), wait_for_result(run), return_exceptions=True)
    assert isinstance(first, Result)
    assert isinstance(second, UsageError)


async def test_run_handle_can_be_stopped() -> None:
    async with asyncio.timeout(60), Moot() as moot:
        run = moot.ask("Why?", ["scripted/endless"])
        async for event in run:
            if isinstance(event, TextDelta):
                run.stop()
        assert run.result.status == "stopped"
        assert run.result.text
        assert run.result.text == run.result.turns[0].message.text == run.result.answers["Alpha"]


async def test_await_raises_reason_when_every_participant_failed() -> None:
    async with Moot() as moot:
        with pytest.raises(ProviderError, match="Key rejected"):
            await moot.ask("Why?", ["scripted/unauthorized", "scripted/forbidden"])


async def test_await_returns_result_when_one_participant_answered() -> None:
    async with Moot() as moot:
        result = await moot.ask("Why?", ["scripted/unauthorized", "scripted/echo"])
    assert (result.status, result.answers) == ("completed", {"Beta": "Why?"})
