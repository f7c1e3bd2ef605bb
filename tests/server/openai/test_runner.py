import asyncio
import base64
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from moot.server.openai.runner import MAX_MESSAGE_CHARS, CompletionRun
from moot.server.openai.schemas import CompletionRequest
from moot.types.accounts import Caller
from moot.types.errors import NotFound, ShuttingDown, UsageError
from moot.types.events import RunEnded, RunStarted, TextDelta
from tests.server.openai.completion_requests import completion_body
from tests.support.app_fixture import LocalApp

LOCAL_CALLER = Caller(account="local", tenant="local", name="local", kind="local")


async def test_finished_run_is_read_from_start(local_app: LocalApp) -> None:
    run = (await local_app.create_discussion())["run"]["id"]
    await local_app.record_answer(run, "Yes", ".")
    events = [
        event async for some in local_app.services.completion_runner.read_events(LOCAL_CALLER, run) for event in some
    ]
    assert [type(event) for event in events] == [RunStarted, TextDelta, TextDelta, RunEnded]
    assert (await local_app.services.runs.pending_commands(run)).stop_reason is None


async def test_closing_the_events_stops_run(local_app: LocalApp) -> None:
    run = (await local_app.create_discussion())["run"]["id"]
    await local_app.record_answer(run, "Yes", status=None)
    async with (
        asyncio.timeout(60),
        aclosing(local_app.services.completion_runner.read_events(LOCAL_CALLER, run)) as events,
    ):
        assert await anext(events)
    assert (await local_app.services.runs.pending_commands(run)).stop_reason == "stopped_by_user"


async def test_run_of_other_tenant_is_not_found(local_app: LocalApp) -> None:
    run = (await local_app.create_discussion())["run"]["id"]
    with pytest.raises(NotFound):
        await anext(
            local_app.services.completion_runner.read_events(
                Caller(account="x", tenant="x", name="x", kind="token"), run
            )
        )
    assert (await local_app.services.runs.pending_commands(run)).stop_reason is None


PNG_URL = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n rest").decode()
IMAGE_CONTENT = [
    {"type": "text", "text": "What is it?"},
    {"type": "image_url", "image_url": {"url": PNG_URL}},
]


async def start_completion(local_app: LocalApp, key: str | None = None, **fields: Any) -> CompletionRun:
    return await local_app.services.completion_runner.start_completion(
        LOCAL_CALLER,
        msgspec.convert(completion_body(**fields), CompletionRequest),
        local_app.services.rate_limits,
        key,
    )


async def test_system_message_follows_persona_prompt(local_app: LocalApp) -> None:
    persona = await local_app.call_ok("POST", "/api/personas", {"name": "Ada", "system_prompt": "Be Ada."})
    participants = [{"model": "scripted/echo", "persona": persona["id"]}, "scripted/steady"]
    await local_app.call_ok("POST", "/api/presets", {"name": "Two", "participants": participants})
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}]
    begun = await start_completion(local_app, model="preset/Two", messages=messages, temperature=0.5)
    assert begun.plan.personas == {"ada": "Be Ada.\n\nBe brief.", "alpha": "Be brief."}
    assert {who.temperature for who in begun.plan.participants} == {0.5}


async def test_unreadable_file_is_rejected_before_model_call(
    local_app: LocalApp,
) -> None:
    with pytest.raises(UsageError, match=r"^messages: .*takes no image files"):
        await start_completion(local_app, model="local/smollm2", messages=[{"role": "user", "content": IMAGE_CONTENT}])


async def test_completion_file_is_stored_in_discussion(local_app: LocalApp) -> None:
    discussion_id = (await local_app.create_discussion(participants=["scripted/echo"]))["discussion"]["id"]
    await start_completion(local_app, discussion=discussion_id, messages=[{"role": "user", "content": IMAGE_CONTENT}])
    (*_, last) = (await local_app.call_ok("GET", f"/api/discussions/{discussion_id}"))["messages"]
    assert (last["content"], len(last["files"])) == ("What is it?", 1)


async def test_idempotency_key_starts_one_run_in_discussion(local_app: LocalApp) -> None:
    discussion_id = (await local_app.create_discussion(participants=["scripted/echo"]))["discussion"]["id"]
    runs = {(await start_completion(local_app, "k", discussion=discussion_id)).id for _ in range(2)}
    assert runs == set(local_app.started_runs[1:])
    with pytest.raises(UsageError, match="Idempotency-Key"):
        await start_completion(
            local_app, "k2", discussion=discussion_id, messages=[{"role": "user", "content": IMAGE_CONTENT}]
        )


async def test_completion_in_discussion_rejects_too_long_message(local_app: LocalApp) -> None:
    discussion_id = (await local_app.create_discussion())["discussion"]["id"]
    with pytest.raises(UsageError, match="10,000"):
        await start_completion(local_app, discussion=discussion_id, text="x" * (MAX_MESSAGE_CHARS + 1))


async def test_completion_is_rejected_while_server_drains(local_app: LocalApp) -> None:
    local_app.services.discussion_service.drain()
    with pytest.raises(ShuttingDown):
        await start_completion(local_app)
