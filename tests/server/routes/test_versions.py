"""The routes of versions: requests and errors. Other tests check the effects."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import update

from moot.store.database import Database
from moot.store.schema.discussions import message
from tests.support.app_fixture import LocalApp, create_local_app


class Turn:
    """An answer in a discussion without a live run."""

    def __init__(self, local_app: LocalApp, discussion: str, id: str) -> None:
        self.local_app = local_app
        self.id = id
        self.path = f"/api/discussions/{discussion}/turns/{id}"

    async def call(self, method: str, path: str = "", body: object = None, **headers: str) -> tuple[int, Any]:
        response = await self.local_app.call(method, self.path + path, body, **headers)
        return response.status_code, response.json()


@pytest.fixture
async def turn(database: Database) -> AsyncIterator[Turn]:
    async with create_local_app(database) as app:
        opened = await app.create_discussion(mode="single")
        await app.record_answer(opened["run"]["id"], "A meeting.")
        id = opened["discussion"]["id"]
        answer = (await app.call_ok("GET", f"/api/discussions/{id}"))["messages"][-1]
        async with database.write() as connection:
            of_then = update(message).where(message.c.id == answer["id"]).values(visible_until=answer["seq"] - 1)
            await connection.execute(of_then)
        yield Turn(app, id, answer["id"])


async def test_regenerate_turn_starts_run_and_conflicts_while_active(turn: Turn) -> None:
    status, accepted = await turn.call("POST", "/regenerate", {"model": "scripted/steady"})
    assert (status, accepted["message"], accepted["run"]["regenerates"]) == (202, None, turn.id)
    assert turn.local_app.started_runs[-1] == accepted["run"]["id"]
    plan = await turn.local_app.services.runs.get_plan(accepted["run"]["id"])
    assert plan.find_participant("alpha").model == "scripted/steady"
    assert (await turn.call("POST", "/regenerate"))[0] == 409


async def test_regenerate_with_same_idempotency_key_runs_once(turn: Turn) -> None:
    key = {"Idempotency-Key": "one"}
    runs = {(await turn.call("POST", "/regenerate", {}, **key))[1]["run"]["id"] for _ in range(2)}
    assert len(runs) == 1


async def test_regenerate_and_edit_reject_invalid_body_by_field(turn: Turn) -> None:
    for method, path, body, field in (
        ("POST", "/regenerate", {"model": "nobody/nothing"}, "model"),
        ("PATCH", "", {"content": " "}, "content"),
        ("PATCH", "", {"content": "\0"}, "content"),
        ("PATCH", "", {"content": "x" * 100_001}, "content"),
    ):
        status, problem = await turn.call(method, path, body)
        assert (status, problem["errors"][0]["field"]) == (400, field)


async def test_versions_can_be_edited_listed_and_selected(turn: Turn) -> None:
    status, edited = await turn.call("PATCH", "", {"content": "A \0council."})
    assert (status, edited["id"], edited["content"], edited["edited"]) == (200, turn.id, "A council.", True)
    status, listed = await turn.call("GET", "/versions")
    assert [one["content"] for one in listed["versions"]] == ["A meeting.", "A council."]
    assert listed["current"] == edited["version_id"]
    status, chosen = await turn.call("POST", "/select", {"version": turn.id})
    assert (status, chosen["content"], chosen["version"]) == (200, "A meeting.", 1)
    status, problem = await turn.call("POST", "/select", {"version": "msg_none"})
    assert (status, "no version" in problem["detail"]) == (404, True)
