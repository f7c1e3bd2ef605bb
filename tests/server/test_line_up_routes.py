from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import SLOW_ON_POSTGRES
from tests.server.knowing import Api, knowing
from tests.store.people import BERT, settled

TWO = {"name": "Two", "participants": ["scripted/echo", {"model": "scripted/steady", "name": "Rosa"}]}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def api(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Api]:
    async with settled(request.param, tmp_path) as database, knowing(database) as api:
        yield api


async def test_a_line_up_from_beginning_to_end(api: Api) -> None:
    made = await api.call("POST", "/line-ups", TWO | {"mode": "debate", "debate": {"lead": "Rosa"}})
    assert made.status_code == 201
    two = made.json()
    assert {
        name: two[name] for name in ("name", "mode", "rounds", "clerk", "debate", "advisors", "directed")
    } == {
        "name": "Two",
        "mode": "debate",
        "rounds": 2,
        "clerk": None,
        "debate": {"lead": "rosa"},
        "advisors": None,
        "directed": None,
    }
    assert await api.ok("GET", f"/line-ups/{two['id']}") == two
    assert await api.ok("GET", "/line-ups") == {"line_ups": [two], "next": None}
    changed = await api.ok("PATCH", f"/line-ups/{two['id']}", {"name": "Pair", "rounds": 3})
    assert changed == await api.ok("GET", f"/line-ups/{two['id']}") == {**two, "name": "Pair", "rounds": 3}
    assert (await api.call("DELETE", f"/line-ups/{two['id']}")).status_code == 204
    assert (await api.call("GET", f"/line-ups/{two['id']}")).status_code == 404


async def test_what_was_read_can_be_sent_back(api: Api) -> None:
    two = await api.ok("POST", "/line-ups", TWO | {"directed": {"trigger": "rosa", "topic": "Tables"}})
    sent = {name: value for name, value in two.items() if name not in {"id", "created_at"}}
    assert await api.ok("PATCH", f"/line-ups/{two['id']}", sent) == two


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "Two"}, "participants"),
        (TWO | {"mode": "quarrel"}, "mode"),
        (TWO | {"debate": {"lead": "Nobody"}}, "debate.lead"),
        (TWO | {"participants": ["nobody/x"]}, "participants[0].model"),
    ],
)
async def test_what_is_not_right_is_named_by_its_field(api: Api, body: Any, field: str) -> None:
    reply = await api.call("POST", "/line-ups", body)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, field)
    assert (await api.ok("GET", "/line-ups"))["line_ups"] == []


async def test_another_s_line_up_is_not_there(api: Api) -> None:
    two = (await api.ok("POST", "/line-ups", TWO))["id"]
    for method, body in (("GET", None), ("PATCH", {"name": "Mine"}), ("DELETE", None)):
        assert (await api.call(method, f"/line-ups/{two}", body, BERT)).status_code == 404
    assert (await api.ok("GET", f"/line-ups/{two}"))["name"] == "Two"
