import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import func, select, update

from moot.store.database import Database
from moot.store.schema.discussions import discussion, message
from moot.store.schema.runs import run
from moot.store.schema.server import idempotency_key
from tests.support.app_fixture import NEW_DISCUSSION_BODY, LocalApp, create_local_app


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def count_rows(local_app: LocalApp) -> tuple[int, ...]:
    """Return the number of rows in each table."""
    async with local_app.services.database.read() as connection:
        tables = (discussion, message, run, idempotency_key)
        return tuple([(await connection.execute(select(func.count()).select_from(t))).scalar_one() for t in tables])


async def test_create_discussion_stores_rows_and_starts_run(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion(message="Was ist ein Moot?\nSag es kurz.", rounds=3)
    assert local_app.started_runs == [opened["run"]["id"]]
    assert opened["discussion"]["title"] == "Was ist ein Moot?"
    assert (opened["discussion"]["language"], opened["discussion"]["rounds"]) == ("de", 3)
    assert [who["name"] for who in opened["discussion"]["participants"]] == ["Alpha", "Beta"]
    assert (opened["message"]["seq"], opened["run"]["status"]) == (1, "waiting")
    assert await count_rows(local_app) == (1, 1, 1, 0)


async def test_create_discussion_stores_all_settings(local_app: LocalApp) -> None:
    project = (await local_app.call_ok("POST", "/api/projects", {"name": "Tables"}))["id"]
    persona = (await local_app.call_ok("POST", "/api/personas", {"name": "Ada", "system_prompt": "Be Ada."}))["id"]
    fields = {
        "title": "  On tables  ",
        "mode": "consensus",
        "rounds": 4,
        "persona": persona,
        "project": project,
        "language": "fr",
        "model": "scripted/steady",
        "participants": [
            {"model": "scripted/echo", "persona": persona},
            {"model": "scripted/echo", "persona": persona},
            {"model": "scripted/echo", "name": "Carpenter", "temperature": 0.5, "max_tokens": 9},
        ],
    }
    stored = (await local_app.create_discussion(**fields))["discussion"]
    assert [who["name"] for who in stored["participants"]] == ["Ada", "Ada 2", "Carpenter"]
    assert stored["participants"][2]["temperature"] == 0.5
    for field in ("mode", "rounds", "persona", "project", "language", "model"):
        assert stored[field] == fields[field]
    assert stored["title"] == "On tables"
    read = await local_app.call_ok("GET", f"/api/discussions/{stored['id']}")
    assert read["discussion"] == stored


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"persona": "nobody"}, 404),
        ({"project": "nothing"}, 404),
        ({"model": "nobody/x"}, 400),
        ({"language": "xx"}, 400),
        ({"message": "   "}, 400),
        ({"title": "   "}, 400),
        ({"participants": ["nobody/x"]}, 400),
        ({"participants": [{"model": "scripted/echo", "persona": "nobody"}]}, 404),
    ],
    ids=str,
)
async def test_rejected_discussion_stores_nothing_and_releases_idempotency_key(
    local_app: LocalApp, wrong: dict[str, Any], status: int
) -> None:
    refused = await local_app.call(
        "POST", "/api/discussions", NEW_DISCUSSION_BODY | wrong, **{"Idempotency-Key": "once"}
    )
    assert (refused.status_code, refused.headers["Content-Type"]) == (status, "application/problem+json")
    assert refused.json()["errors"][0]["field"].startswith(next(iter(wrong)))
    assert await count_rows(local_app) == (0, 0, 0, 0)
    assert local_app.started_runs == []
    opened = await local_app.call("POST", "/api/discussions", NEW_DISCUSSION_BODY, **{"Idempotency-Key": "once"})
    assert opened.status_code == 201, "the key is still free"


@pytest.mark.parametrize(("count", "mode"), [(1, "single"), (2, "parallel"), (3, "parallel")])
async def test_default_mode_depends_on_participant_count(local_app: LocalApp, count: int, mode: str) -> None:
    assert (await local_app.create_discussion(participants=["scripted/echo"] * count))["discussion"]["mode"] == mode


async def test_consensus_requires_two_participants(local_app: LocalApp) -> None:
    alone = NEW_DISCUSSION_BODY | {"participants": ["scripted/echo"], "mode": "consensus"}
    refused = await local_app.call("POST", "/api/discussions", alone)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "mode")
    opened = (await local_app.create_discussion(mode="consensus"))["discussion"]
    path, one = f"/api/discussions/{opened['id']}", {"participants": ["scripted/echo"]}
    assert (await local_app.call("PATCH", path, one)).status_code == 400
    assert (await local_app.call_ok("PATCH", path, one | {"mode": "single"}))["mode"] == "single"
    assert (await local_app.call("PATCH", path, {"mode": "consensus"})).status_code == 400


async def test_update_discussion_accepts_participants_as_read(local_app: LocalApp) -> None:
    opened = (await local_app.create_discussion())["discussion"]
    participants = [opened["participants"][0], opened["participants"][1] | {"temperature": 0.5}]
    changed = await local_app.call_ok("PATCH", f"/api/discussions/{opened['id']}", {"participants": participants})
    assert changed["participants"] == participants


async def test_rejected_update_changes_nothing(local_app: LocalApp) -> None:
    before = (await local_app.create_discussion())["discussion"]
    path = f"/api/discussions/{before['id']}"
    wrongs: tuple[tuple[dict[str, Any], int], ...] = (
        ({"persona": "nobody"}, 404),
        ({"project": "nothing"}, 404),
        ({"participants": ["nobody/x"]}, 400),
        ({"model": "nobody/x"}, 400),
        ({"title": " "}, 400),
    )
    for wrong, status in wrongs:
        refused = await local_app.call("PATCH", path, {"title": "New", "rounds": 5} | wrong)
        assert refused.status_code == status, wrong
        assert refused.json()["errors"][0]["field"].startswith(next(iter(wrong)))
    assert (await local_app.call_ok("GET", path))["discussion"] == before


async def test_update_discussion_clears_model_with_null(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion(model="scripted/steady")
    changed = await local_app.call_ok("PATCH", f"/api/discussions/{opened['discussion']['id']}", {"model": None})
    assert changed["model"] is None
    assert changed["updated_at"] > opened["discussion"]["updated_at"]


async def test_send_message_starts_run_and_requests_stop_of_previous_run(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    id, first = opened["discussion"]["id"], opened["run"]["id"]
    reply = await local_app.call_ok("POST", f"/api/discussions/{id}/messages", {"message": "And now?"})
    assert (reply["run"]["message"], reply["message"]["run"]) == (reply["message"]["id"], reply["run"]["id"])
    assert local_app.started_runs == [first, reply["run"]["id"]]
    assert (await local_app.services.runs.pending_commands(first)).stop_reason == "follow_up_interrupt"
    assert (await local_app.services.runs.pending_commands(reply["run"]["id"])).stop_reason is None


async def test_send_message_reactivates_archived_discussion(local_app: LocalApp) -> None:
    id = (await local_app.create_discussion())["discussion"]["id"]
    assert (await local_app.call_ok("POST", f"/api/discussions/{id}/archive"))["status"] == "archived"
    await local_app.call_ok("POST", f"/api/discussions/{id}/messages", {"message": "One more thing."})
    assert (await local_app.call_ok("GET", f"/api/discussions/{id}"))["discussion"]["status"] == "active"


async def test_idempotency_key_conflicts_with_other_request(local_app: LocalApp) -> None:
    key = {"Idempotency-Key": "once"}
    first = await local_app.call_ok("POST", "/api/discussions", NEW_DISCUSSION_BODY, **key)
    assert await local_app.call_ok("POST", "/api/discussions", NEW_DISCUSSION_BODY, **key) == first
    path = f"/api/discussions/{first['discussion']['id']}/messages"
    assert (await local_app.call("POST", path, {"message": "And now?"}, **key)).status_code == 409
    assert await count_rows(local_app) == (1, 1, 1, 1)
    assert local_app.started_runs == [first["run"]["id"]], "it was started once"


async def test_concurrent_requests_with_idempotency_key_run_once(local_app: LocalApp) -> None:
    key = {"Idempotency-Key": "once"}
    replies = await asyncio.gather(
        *(local_app.call_ok("POST", "/api/discussions", NEW_DISCUSSION_BODY, **key) for _ in range(5))
    )
    assert all(reply == replies[0] for reply in replies)
    assert await count_rows(local_app) == (1, 1, 1, 1)


@pytest.mark.parametrize("key", ["", "x" * 201], ids=["empty", "long"])
async def test_idempotency_key_with_invalid_length_is_rejected(local_app: LocalApp, key: str) -> None:
    refused = await local_app.call("POST", "/api/discussions", NEW_DISCUSSION_BODY, **{"Idempotency-Key": key})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "idempotency-key")


async def test_delete_discussion_conflicts_while_run_is_active(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    path, run = f"/api/discussions/{opened['discussion']['id']}", opened["run"]["id"]
    refused = await local_app.call("DELETE", path)
    assert (refused.status_code, run in refused.json()["detail"]) == (409, True)
    await local_app.record_answer(run, "A ", "meeting.")
    turn = (await local_app.call_ok("GET", path))["messages"][-1]["id"]
    gone = (path, f"{path}/turns/{turn}/prompt", f"/api/runs/{run}", f"/api/runs/{run}/events")
    assert [(await local_app.call("GET", one)).status_code for one in gone] == [200] * len(gone)
    deleted = await local_app.call("DELETE", path)
    assert (deleted.status_code, deleted.text) == (204, "")
    for one in gone:
        assert (await local_app.call("GET", one)).status_code == 404, one
    assert (await local_app.call("DELETE", path)).status_code == 404
    assert await count_rows(local_app) == (0, 0, 0, 0)


async def test_unknown_discussion_id_with_any_characters_returns_404(local_app: LocalApp) -> None:
    discussion_id = (await local_app.create_discussion())["discussion"]["id"]
    for id in ("dis_none", f"{discussion_id}%00", quote("dis_ä🙂")):
        reply = await local_app.call("GET", f"/api/discussions/{id}")
        assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json"), id


async def test_turn_prompt_shows_what_participant_was_sent(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion(participants=["scripted/echo"], message="What is a moot?")
    id = opened["discussion"]["id"]
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    answer = (await local_app.call_ok("GET", f"/api/discussions/{id}"))["messages"][-1]
    shown = await local_app.call_ok("GET", f"/api/discussions/{id}/turns/{answer['id']}/prompt")
    assert (shown["model"], shown["temperature"]) == ("scripted/echo", None)
    assert "English" in shown["system"]
    other = await local_app.create_discussion()
    wrong = f"/api/discussions/{other['discussion']['id']}/turns/{answer['id']}/prompt"
    assert (await local_app.call("GET", wrong)).status_code == 404, "it is a turn of another discussion"


async def test_turn_prompt_omits_later_messages(local_app: LocalApp) -> None:
    """The next message may be stored before the turn that it interrupts, with a smaller number."""
    opened = await local_app.create_discussion(message="What is a moot?")
    path = f"/api/discussions/{opened['discussion']['id']}"
    later = await local_app.call_ok("POST", f"{path}/messages", {"message": "And a council?"})
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    messages = (await local_app.call_ok("GET", path))["messages"]
    (answer,) = [one for one in messages if one["role"] == "assistant"]
    async with local_app.services.database.write() as connection:
        statement = update(message).where(message.c.id == answer["id"])
        await connection.execute(statement.values(visible_until=later["message"]["seq"]))
    shown = await local_app.call_ok("GET", f"{path}/turns/{answer['id']}/prompt")
    assert "What is a moot?" in str(shown["messages"])
    assert "And a council?" not in str(shown["messages"])


async def test_create_discussion_and_send_message_return_503_while_draining(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    local_app.services.discussion_service.drain()
    id = opened["discussion"]["id"]
    for path, body in (("", NEW_DISCUSSION_BODY), (f"/{id}/messages", {"message": "Hello?"})):
        refused = await local_app.call("POST", f"/api/discussions{path}", body)
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
    assert await count_rows(local_app) == (1, 1, 1, 0)


async def test_continue_with_same_idempotency_key_runs_once(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    path, key = f"/api/discussions/{opened['discussion']['id']}/continue", {"Idempotency-Key": "once"}
    first = await local_app.call_ok("POST", path, {"turns": 2}, **key)
    assert (await local_app.call("POST", path, {"turns": 2}, **key)).json() == first


@pytest.mark.parametrize("cursor", ["xx", "WzEsIDJd", "a'b"])
async def test_list_discussions_rejects_invalid_cursor(local_app: LocalApp, cursor: str) -> None:
    refused = await local_app.call("GET", f"/api/discussions?cursor={cursor}")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "cursor")


async def test_turn_prompt_shows_text_file_content_and_names_other_files(
    local_app: LocalApp,
) -> None:
    sent = [("notes.txt", b"Tables have no head."), ("cat.png", b"\x89PNG\r\n\x1a\n\0")]
    files = [(await local_app.client.post("/api/files", files={"file": one})).json()["id"] for one in sent]
    opened = await local_app.create_discussion(participants=["scripted/echo"], files=files)
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    path = f"/api/discussions/{opened['discussion']['id']}"
    answer = (await local_app.call_ok("GET", path))["messages"][-1]
    shown = await local_app.call_ok("GET", f"{path}/turns/{answer['id']}/prompt")
    notes, cat, words = shown["messages"][0]["parts"]
    assert notes["text"] == "notes.txt:\n```\nTables have no head.\n```"
    assert cat == {"type": "file", "name": "cat.png", "media_type": "image/png", "data": ""}
    assert words["text"] == "What is a moot?"


async def test_turn_prompt_parts_have_origin_and_token_count(local_app: LocalApp) -> None:
    sent = [("notes.txt", b"Tables have no head."), ("cat.png", b"\x89PNG\r\n\x1a\n\0")]
    files = [(await local_app.client.post("/api/files", files={"file": one})).json()["id"] for one in sent]
    opened = await local_app.create_discussion(participants=["scripted/echo"], files=files)
    await local_app.record_answer(opened["run"]["id"], "A meeting.")
    path, asked = f"/api/discussions/{opened['discussion']['id']}", opened["message"]["id"]
    answer = (await local_app.call_ok("GET", path))["messages"][-1]
    prompt = await local_app.call_ok("GET", f"{path}/turns/{answer['id']}/prompt/parts")
    assert prompt["model"] == "scripted/echo"
    language, notes, cat, words = prompt["parts"]
    assert (language["role"], language["origin"], language["message"]) == ("system", "language", None)
    assert (notes["origin"], notes["name"], notes["message"]) == ("file", "notes.txt", asked)
    assert (cat["text"], cat["name"], cat["size"], cat["tokens"]) == ("", "cat.png", 9, 1000)
    assert words == {
        "role": "user",
        "origin": "message",
        "name": None,
        "message": asked,
        "text": "What is a moot?",
        "tokens": 4,
        "size": None,
    }
    assert prompt["tokens"] == sum(part["tokens"] for part in prompt["parts"])
    other = await local_app.create_discussion()
    for turn in (asked, "msg_none"):
        assert (await local_app.call("GET", f"{path}/turns/{turn}/prompt/parts")).status_code == 404
    wrong = f"/api/discussions/{other['discussion']['id']}/turns/{answer['id']}/prompt/parts"
    assert (await local_app.call("GET", wrong)).status_code == 404


async def test_task_model_can_be_set_changed_and_cleared(local_app: LocalApp) -> None:
    opened = (await local_app.create_discussion(title="Mine", task_model="scripted/echo"))["discussion"]
    assert opened["task_model"] == "scripted/echo"
    path = f"/api/discussions/{opened['id']}"
    assert (await local_app.call_ok("PATCH", path, {"task_model": "scripted/steady"}))[
        "task_model"
    ] == "scripted/steady"
    for method, where, body in (("PATCH", path, {}), ("POST", "/api/discussions", NEW_DISCUSSION_BODY)):
        refused = await local_app.call(method, where, body | {"task_model": "nobody/x"})
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "task_model")
    assert (await local_app.call_ok("PATCH", path, {"task_model": None}))["task_model"] is None
