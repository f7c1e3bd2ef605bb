import asyncio
import base64
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from moot.server.openai.runner import MAX_MESSAGE_CHARS, CompletionRun, RunEventReader
from moot.server.openai.schemas import CompletionRequest
from moot.types.accounts import Caller
from moot.types.errors import NotFound, ShuttingDown, UsageError
from moot.types.events import RunEnded, RunStarted, TextDelta
from tests.server.openai.asked import body
from tests.server.talking import Talking

ME = Caller(account="local", tenant="local", name="local", kind="local")


def hearing(here: Talking) -> RunEventReader:
    return RunEventReader(here.house.feeds, here.house.events, here.house.runs)


async def test_a_run_that_is_over_is_heard_from_its_start(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    await here.answer(run, "Yes", ".")
    heard = [event async for some in hearing(here).read_events(ME, run) for event in some]
    assert [type(event) for event in heard] == [RunStarted, TextDelta, TextDelta, RunEnded]
    assert (await here.house.runs.pending_commands(run)).stop_reason is None


async def test_whoever_leaves_stops_it(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    await here.answer(run, "Yes", status=None)
    async with asyncio.timeout(60), aclosing(hearing(here).read_events(ME, run)) as heard:
        assert await anext(heard)
    assert (await here.house.runs.pending_commands(run)).stop_reason == "stopped_by_user"


async def test_nobody_hears_the_runs_of_others(here: Talking) -> None:
    run = (await here.open())["run"]["id"]
    with pytest.raises(NotFound):
        await anext(hearing(here).read_events(Caller(account="x", tenant="x", name="x", kind="token"), run))
    assert (await here.house.runs.pending_commands(run)).stop_reason is None


PNG = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
PICTURE = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": PNG}}]


async def begin(here: Talking, key: str | None = None, **asked: Any) -> CompletionRun:
    return await here.house.speaking.start_completion(
        ME, msgspec.convert(body(**asked), CompletionRequest), here.house.limits, key
    )


async def test_instructions_come_after_who_one_is(here: Talking) -> None:
    persona = await here.ok("POST", "/api/personas", {"name": "Ada", "system_prompt": "Be Ada."})
    seats = [{"model": "scripted/echo", "persona": persona["id"]}, "scripted/steady"]
    await here.ok("POST", "/api/line-ups", {"name": "Two", "participants": seats})
    said = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    begun = await begin(here, model="line-up/Two", messages=said, temperature=0.5)
    assert begun.plan.personas == {"ada": "Be Ada.\n\nBe brief.", "alpha": "Be brief."}
    assert {who.temperature for who in begun.plan.participants} == {0.5}


async def test_a_file_that_somebody_cannot_read_is_refused_before_anything_is_paid(here: Talking) -> None:
    with pytest.raises(UsageError, match=r"^messages: .*takes no image files"):
        await begin(here, model="local/smollm2", messages=[{"role": "user", "content": PICTURE}])


async def test_a_file_for_a_discussion_is_kept_there(here: Talking) -> None:
    place = (await here.open(participants=["scripted/echo"]))["discussion"]["id"]
    await begin(here, discussion=place, messages=[{"role": "user", "content": PICTURE}])
    (*_, last) = (await here.ok("GET", f"/api/discussions/{place}"))["messages"]
    assert (last["content"], len(last["files"])) == ("What is it?", 1)


async def test_in_a_discussion_a_request_with_a_key_starts_one_run(here: Talking) -> None:
    place = (await here.open(participants=["scripted/echo"]))["discussion"]["id"]
    runs = {(await begin(here, "k", discussion=place)).id for _ in range(2)}
    assert runs == set(here.started[1:])
    with pytest.raises(UsageError, match="Idempotency-Key"):
        await begin(here, "k2", discussion=place, messages=[{"role": "user", "content": PICTURE}])


async def test_a_discussion_takes_no_more_words_than_elsewhere(here: Talking) -> None:
    place = (await here.open())["discussion"]["id"]
    with pytest.raises(UsageError, match="10,000"):
        await begin(here, discussion=place, words="x" * (MAX_MESSAGE_CHARS + 1))


async def test_a_server_that_ends_takes_nothing_in(here: Talking) -> None:
    here.house.hall.drain()
    with pytest.raises(ShuttingDown):
        await begin(here)
