"""`/v1` over HTTP: requests, answers, errors and disconnects."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from moot.engine.runs import ephemeral
from moot.server import sse
from moot.server.openai.routes import MAX_BODY
from tests.server.account_app import AccountApp, create_account_app
from tests.server.openai.completion_requests import (
    COMPLETIONS_PATH,
    CompletionClient,
    completion_body,
    count_charges,
    delta_text,
    parse_frames,
)
from tests.support.app_fixture import LocalApp
from tests.support.databases import open_migrated_database


async def test_completion_returns_whole_answer(local_app: LocalApp) -> None:
    reply = await local_app.call_ok("POST", COMPLETIONS_PATH, completion_body("scripted/thinker"))
    assert reply["object"] == "chat.completion"
    assert reply["model"] == "scripted/thinker"
    (choice,) = reply["choices"]
    assert choice["finish_reason"] == "stop"
    assert choice["message"]["content"].startswith("A table has no head")
    assert choice["message"]["reasoning_content"].startswith("Who sits where?")
    assert reply["usage"]["total_tokens"] > 0
    assert await count_charges(local_app.services.database) == 1


async def test_completion_streams_answer(local_app: LocalApp) -> None:
    asked = completion_body(stream=True, stream_options={"include_usage": True})
    reply = await local_app.call("POST", COMPLETIONS_PATH, asked)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    first, *middle, last, usage, done = parse_frames(reply.text)
    assert first["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert delta_text(middle) == "Why?"
    assert last["choices"][0]["finish_reason"] == "stop"
    assert (usage["choices"], usage["usage"]["prompt_tokens"] > 0, first["usage"]) == ([], True, None)
    assert done == "[DONE]"
    assert {frame["object"] for frame in (first, *middle, last, usage)} == {"chat.completion.chunk"}
    assert len({frame["id"] for frame in (first, *middle, last, usage)}) == 1


async def test_stream_omits_usage_unless_requested(local_app: LocalApp) -> None:
    reply = await local_app.call("POST", COMPLETIONS_PATH, completion_body(stream=True))
    assert "usage" not in reply.text


async def test_preset_model_runs_debate(local_app: LocalApp) -> None:
    debaters = ["scripted/advocate", "scripted/sceptic", "scripted/undecided"]
    new = {"name": "Two minds", "participants": debaters, "mode": "debate"}
    await local_app.call_ok("POST", "/api/presets", new)
    assert "preset/Two minds" in [one["id"] for one in (await local_app.call_ok("GET", "/v1/models"))["data"]]
    one = await local_app.call_ok("GET", "/v1/models/preset%2FTwo%20minds")
    assert one["id"] == "preset/Two minds"
    frames = parse_frames(
        (await local_app.call("POST", COMPLETIONS_PATH, completion_body("preset/Two minds", stream=True))).text
    )
    assert frames[-1] == "[DONE]"
    reasoning = delta_text(frames, "reasoning_content")
    for name in ("Alpha", "Beta", "Gamma"):
        assert f"**{name}, first answer**" in reasoning
        assert f"**{name}, having read the others**" in reasoning
    assert delta_text(frames).strip()
    assert await count_charges(local_app.services.database) == 7, "three, three again, and a synthesis: no minutes"


async def test_completion_accepts_history_and_system_message(local_app: LocalApp) -> None:
    asked = completion_body()
    asked["messages"] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Two?", "name": "Ada"},
    ]
    reply = await local_app.call_ok("POST", COMPLETIONS_PATH, asked)
    assert reply["choices"][0]["message"]["content"] == "Ada: Two?"


INVALID_REQUESTS: list[tuple[Any, int, str]] = [
    (completion_body("moot/quarrel"), 404, "model"),
    (completion_body("preset/nobody"), 404, "model"),
    (completion_body("nobody/none"), 404, "model"),
    (completion_body("gpt-5"), 404, "model"),
    (completion_body(n=2), 400, "n"),
    (completion_body(discusion="x"), 400, "discusion"),
    (completion_body(discussion="dis_none"), 404, "discussion"),
    (completion_body(temperature=3), 400, "temperature"),
    (completion_body(messages=[]), 400, "messages"),
    ({"model": "scripted/echo"}, 400, "messages"),
    ([], 400, "body"),
    (None, 400, "body"),
]


async def test_invalid_requests_return_openai_error_with_param(local_app: LocalApp, subtests: pytest.Subtests) -> None:
    for asked, status, param in INVALID_REQUESTS:
        for stream in (False, True):
            with subtests.test(param=param, status=status, stream=stream):
                sent = {**asked, "stream": stream} if isinstance(asked, dict) else asked
                reply = await local_app.call("POST", COMPLETIONS_PATH, sent)
                assert (reply.status_code, list(reply.json())) == (status, ["error"])
                assert reply.json()["error"]["param"] == param
                assert reply.json()["error"]["message"]
                assert reply.headers["content-type"].startswith("application/json")
    assert await count_charges(local_app.services.database) == 0


async def test_protocol_errors_return_openai_error(local_app: LocalApp) -> None:
    json = {"content-type": "application/json"}
    broken = await local_app.client.post(COMPLETIONS_PATH, content="{", headers=json)
    other = await local_app.client.post(COMPLETIONS_PATH, content="{}", headers={"content-type": "text/plain"})
    large = await local_app.client.post(COMPLETIONS_PATH, content=b" " * (MAX_BODY + 1), headers=json)
    replies = [
        broken,
        other,
        large,
        await local_app.call("GET", COMPLETIONS_PATH),
        await local_app.call("GET", "/v1/files"),
    ]
    assert [reply.status_code for reply in replies] == [400, 415, 413, 405, 404]
    assert all(list(reply.json()) == ["error"] for reply in replies)


async def test_completion_requires_valid_token(sqlite_account_app: AccountApp) -> None:
    for headers in ({}, {"Authorization": "Bearer moot_wrong"}):
        reply = await sqlite_account_app.client.post(COMPLETIONS_PATH, json=completion_body(), headers=headers)
        assert (reply.status_code, reply.json()["error"]["code"]) == (401, "invalid_api_key")
    reply = await sqlite_account_app.client.post(
        COMPLETIONS_PATH, json=completion_body(), headers=await sqlite_account_app.create_token_headers("ada")
    )
    assert reply.status_code == 200


async def test_rate_limited_completion_returns_retry_after(tmp_path: Path) -> None:
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, local=True, message_rate=(1, 1)) as account_app,
    ):
        assert (await account_app.client.post(COMPLETIONS_PATH, json=completion_body())).status_code == 200
        reply = await account_app.client.post(COMPLETIONS_PATH, json=completion_body())
    assert (reply.status_code, reply.json()["error"]["code"]) == (429, "rate_limit_exceeded")
    assert int(reply.headers["retry-after"]) > 0


async def test_invalid_completions_do_not_count_against_message_rate_limit(tmp_path: Path) -> None:
    wrong = [
        {"model": "scripted/echo"},
        completion_body("moot/quarrel"),
        completion_body(stop=["."]),
        completion_body(discussion="dis_none"),
    ]
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        create_account_app(database, local=True, message_rate=(1, 1)) as account_app,
    ):
        replies = [(await account_app.client.post(COMPLETIONS_PATH, json=one)).status_code for one in wrong]
        assert replies == [400, 404, 400, 404]
        assert (await account_app.client.post(COMPLETIONS_PATH, json=completion_body())).status_code == 200


async def test_completion_reports_ignored_tools_of_preset(local_app: LocalApp) -> None:
    participants = [{"model": "scripted/echo", "tools": ["moot"]}, "scripted/steady"]
    await local_app.call_ok("POST", "/api/presets", {"name": "Two", "participants": participants})
    reply = await local_app.call_ok("POST", COMPLETIONS_PATH, completion_body("preset/Two"))
    reasoning = reply["choices"][0]["message"]["reasoning_content"]
    assert reasoning == "[Tools are not available in a run that is not stored. Answering without tools: Alpha.]"


async def test_completion_is_rejected_when_budget_is_exhausted(local_app: LocalApp) -> None:
    await local_app.services.budgets.set_limit("local", 0.0)
    reply = await local_app.call("POST", COMPLETIONS_PATH, completion_body())
    assert (reply.status_code, reply.json()["error"]["code"]) == (402, "insufficient_quota")


async def test_failed_run_returns_error_without_retry(local_app: LocalApp) -> None:
    whole = await local_app.call("POST", COMPLETIONS_PATH, completion_body("scripted/unauthorized"))
    assert (whole.status_code, whole.headers["x-should-retry"]) == (502, "false")
    frames = parse_frames(
        (await local_app.call("POST", COMPLETIONS_PATH, completion_body("scripted/unauthorized", stream=True))).text
    )
    assert "Key rejected" in frames[-1]["error"]["message"]
    assert "[DONE]" not in frames


async def test_interrupted_stream_ends_with_error_and_no_finish_reason(local_app: LocalApp) -> None:
    frames = parse_frames(
        (await local_app.call("POST", COMPLETIONS_PATH, completion_body("scripted/reset", stream=True))).text
    )
    assert delta_text(frames)
    assert "error" in frames[-1]
    assert not [frame for frame in frames[:-1] if frame["choices"][0]["finish_reason"]]


@pytest.mark.parametrize("stream", [False, True])
async def test_disconnect_stops_run_and_charges_partial_answer(local_app: LocalApp, stream: bool) -> None:
    client = CompletionClient(completion_body("scripted/endless", stream=stream))
    task = client.start_request(local_app.app)
    ephemeral_runs = local_app.worker.engine.ephemeral_runs
    async with asyncio.timeout(60):
        if stream:
            await client.wait_for(b"table")
        while not len(ephemeral_runs):
            await asyncio.sleep(0.001)
        client.disconnected.set()
        await task
        while len(ephemeral_runs):
            await asyncio.sleep(0.001)
    assert await count_charges(local_app.services.database) <= 1
    assert not stream or await count_charges(local_app.services.database) == 1


async def test_shutdown_ends_stream_with_error(local_app: LocalApp) -> None:
    client = CompletionClient(completion_body("scripted/endless", stream=True))
    task = client.start_request(local_app.app)
    async with asyncio.timeout(60):
        await client.wait_for(b"table")
        local_app.services.sse_connections.close_all()
        await task
    frames = parse_frames(b"".join(client.received_bodies).decode())
    assert "incomplete" in frames[-1]["error"]["message"]


async def test_idle_stream_sends_heartbeats(local_app: LocalApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(ephemeral, "POLL_SECONDS", 0.001)
    client = CompletionClient(completion_body("scripted/silence", stream=True))
    task = client.start_request(local_app.app)
    async with asyncio.timeout(60):
        await client.wait_for(sse.HEARTBEAT_FRAME * 3)
        client.disconnected.set()
        await task


async def test_repeated_completion_with_idempotency_key_runs_once(local_app: LocalApp) -> None:
    key = {"Idempotency-Key": "k1"}
    asked = completion_body("scripted/thinker")
    first, second = [await local_app.call_ok("POST", COMPLETIONS_PATH, asked, **key) for _ in range(2)]
    assert first == second
    assert await count_charges(local_app.services.database) == 1
    other = await local_app.call("POST", COMPLETIONS_PATH, completion_body("scripted/thinker", "Other?"), **key)
    assert (other.status_code, list(other.json())) == (409, ["error"])


async def test_repeated_stream_with_idempotency_key_is_replayed(local_app: LocalApp) -> None:
    key = {"Idempotency-Key": "k2"}
    asked = completion_body("scripted/thinker", stream=True, stream_options={"include_usage": True})
    first, second = [
        parse_frames((await local_app.call("POST", COMPLETIONS_PATH, asked, **key)).text) for _ in range(2)
    ]
    assert [delta_text(first), delta_text(first, "reasoning_content")] == [
        delta_text(second),
        delta_text(second, "reasoning_content"),
    ]
    assert first[-2:] == [{**second[-2], "created": first[-2]["created"]}, "[DONE]"]
    assert await count_charges(local_app.services.database) == 1


async def test_failed_completion_can_be_retried_with_same_idempotency_key(local_app: LocalApp) -> None:
    for _ in range(2):
        reply = await local_app.call(
            "POST", COMPLETIONS_PATH, completion_body("scripted/unauthorized"), **{"Idempotency-Key": "k3"}
        )
        assert reply.status_code == 502


async def test_completion_in_discussion_sends_last_message(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion(participants=["scripted/echo"])
    discussion_id = opened["discussion"]["id"]
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    client = CompletionClient(completion_body(text="And then?", discussion=discussion_id, stream=True))
    task = client.start_request(local_app.app)
    async with asyncio.timeout(60):
        while len(local_app.started_runs) < 2:
            await asyncio.sleep(0.001)
        await local_app.record_answer(local_app.started_runs[1], "More", ".")
        await task
    frames = parse_frames(b"".join(client.received_bodies).decode())
    assert (delta_text(frames), frames[-1], frames[0]["id"]) == ("More.", "[DONE]", local_app.started_runs[1])
    messages = (await local_app.call_ok("GET", f"/api/discussions/{discussion_id}"))["messages"]
    assert [one["content"] for one in messages] == ["What is a moot?", "A meeting.", "And then?", "More."]


async def test_disconnect_from_discussion_stops_run(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion(participants=["scripted/echo"])
    client = CompletionClient(completion_body(metadata={"discussion": opened["discussion"]["id"]}, stream=True))
    task = client.start_request(local_app.app)
    async with asyncio.timeout(60):
        while len(local_app.started_runs) < 2:
            await asyncio.sleep(0.001)
        await local_app.record_answer(local_app.started_runs[1], "More", status=None)
        await client.wait_for(b"More")
        client.disconnected.set()
        await task
    assert (await local_app.services.runs.pending_commands(local_app.started_runs[1])).stop_reason == "stopped_by_user"
