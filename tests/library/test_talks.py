import asyncio

import pytest

from moot import Moot, ProviderError, Result, Talk, UsageError
from moot.model.events import RunEnded, RunStarted, TextDelta


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


async def read(talk: Talk) -> Result:
    return await talk


async def test_two_who_read_it_at_once_do_not_have_it_asked_twice() -> None:
    async with Moot() as moot:
        talk = moot.ask("Why?", ["scripted/echo"])
        first, second = await asyncio.gather(read(talk), read(talk), return_exceptions=True)
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
