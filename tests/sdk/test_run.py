import asyncio

import pytest

from moot import Moot, ProviderError, Result, RunHandle, UsageError
from moot.sdk.run import build_result
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.events import Answer, Notice, RunEnded, RunStarted, TextDelta, TurnEnded, TurnStatus
from moot.types.participants import make_participants


def turn_ended(
    participant: str, text: str, stage: str = "answer", status: TurnStatus = "completed"
) -> TurnEnded:
    return TurnEnded(
        participant=participant,
        stage=stage,
        round=0,
        status=status,
        message=Answer(text=text),
        model="x/y",
        usage=Usage(input=1, output=2),
        cost=0.5,
    )


def result_of_turns(*turns: TurnEnded | Notice) -> Result:
    ended = RunEnded(status="completed")
    return build_result([RunStarted(participants=make_participants(("x/y", "x/y"))), *turns, ended], ended)


def test_the_synthesis_is_what_a_debate_comes_to() -> None:
    came = result_of_turns(
        turn_ended("alpha", "Old.", "initial"),
        turn_ended("alpha", "New.", "debate"),
        turn_ended("beta", "All.", "synthesis"),
    )
    assert (came.text, came.synthesis, came.answers) == ("All.", "All.", {"Alpha": "New."})


def test_several_answers_have_names_and_one_has_none() -> None:
    assert (
        result_of_turns(turn_ended("alpha", "Yes."), turn_ended("beta", "No.")).text
        == "Alpha:\nYes.\n\nBeta:\nNo."
    )
    assert (
        result_of_turns(turn_ended("alpha", "Yes."), turn_ended("beta", "", status="failed")).text == "Yes."
    )


def test_what_was_said_until_a_stop_is_an_answer() -> None:
    came = result_of_turns(
        turn_ended("alpha", "Half", status="stopped"), turn_ended("beta", "", status="stopped")
    )
    assert (came.text, came.answers) == ("Half", {"Alpha": "Half"})


def test_a_stop_before_the_first_word_leaves_what_was_said_before() -> None:
    came = result_of_turns(
        turn_ended("alpha", "Old.", "initial"), turn_ended("alpha", "", "debate", "stopped")
    )
    assert came.answers == {"Alpha": "Old."}


def test_all_that_was_paid_is_counted() -> None:
    vain = Charge(purpose="summary", model="x/y", usage=Usage(input=10), cost=1.0)
    came = result_of_turns(turn_ended("alpha", "Yes."), Notice(kind="missing", message="None.", charge=vain))
    assert (came.usage, came.cost, came.notices) == (Usage(input=11, output=2), 1.5, ("None.",))


def test_a_price_that_nobody_knows_makes_the_cost_unknown() -> None:
    vain = Charge(purpose="summary", model="x/y", usage=Usage(), cost=None)
    assert (
        result_of_turns(turn_ended("alpha", "Yes."), Notice(kind="missing", message="", charge=vain)).cost
        is None
    )


async def test_it_is_read_event_by_event_and_then_has_a_result() -> None:
    async with Moot() as moot:
        talk = moot.ask("Why?", ["scripted/echo"])
        with pytest.raises(UsageError, match="not over"):
            assert talk.result
        heard = [event async for event in talk]
        assert (type(heard[0]), type(heard[-1])) == (RunStarted, RunEnded)
        assert talk.result.text == (await talk).text == "Why?"
        with pytest.raises(UsageError, match="read already"):
            async for _ in talk:
                pass


async def wait_for_result(run_handle: RunHandle) -> Result:
    return await run_handle


async def test_two_who_read_it_at_once_do_not_have_it_asked_twice() -> None:
    async with Moot() as moot:
        talk = moot.ask("Why?", ["scripted/echo"])
        first, second = await asyncio.gather(
            wait_for_result(talk), wait_for_result(talk), return_exceptions=True
        )
    assert isinstance(first, Result)
    assert isinstance(second, UsageError)


async def test_it_can_be_stopped() -> None:
    async with asyncio.timeout(60), Moot() as moot:
        talk = moot.ask("Why?", ["scripted/endless"])
        async for event in talk:
            if isinstance(event, TextDelta):
                talk.stop()
        assert talk.result.status == "stopped"
        assert talk.result.text
        assert talk.result.text == talk.result.turns[0].message.text == talk.result.answers["Alpha"]


async def test_where_nobody_could_answer_the_reason_is_raised() -> None:
    async with Moot() as moot:
        with pytest.raises(ProviderError, match="Key rejected"):
            await moot.ask("Why?", ["scripted/unauthorized", "scripted/forbidden"])


async def test_where_somebody_could_it_is_not() -> None:
    async with Moot() as moot:
        result = await moot.ask("Why?", ["scripted/unauthorized", "scripted/echo"])
    assert (result.status, result.answers) == ("completed", {"Beta": "Why?"})
