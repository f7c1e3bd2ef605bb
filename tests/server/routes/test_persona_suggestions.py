from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.settings import RateSettings, Settings
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import DOLLAR, Trying, trying
from tests.services.test_persona_suggestions import EIGHT, MODEL
from tests.store.people import settled

TOLD = {"situation": "I want to move.", "model": MODEL}


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


async def test_from_a_situation_to_a_persona(room: Trying) -> None:
    room.cast.says("clerk", {"questions": ["Since when?"]})
    asked = await room.api.ok("POST", "/perspectives/questions", TOLD)
    assert (asked["questions"], asked["model"], asked["cost"]) == (["Since when?"], MODEL, 0.0)
    room.cast.says("clerk", EIGHT)
    answers = [{"question": asked["questions"][0], "answer": "A year."}]
    events = await room.streamed("/perspectives", TOLD | {"answers": answers})
    assert [one["type"] for one in events] == ["proposing", *["proposal"] * 8, "done"]
    proposal = events[1]["proposal"]
    draft = {name: proposal[name] for name in ("name", "description", "category")}
    persona = await room.api.ok("POST", "/personas", draft)
    assert persona["name"] == "Voice 0"
    again = await room.streamed("/perspectives", TOLD)
    assert (again[-1]["proposals"], again[-1]["dropped"][0]["name"]) == (7, "Voice 0")


@pytest.mark.parametrize("path", ["/perspectives", "/perspectives/questions"])
@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"situation": ""}, "situation"),
        ({"situation": "x" * 4001}, "situation"),
        ({"model": "gpt"}, "model"),
        ({"model": "scripted/nobody"}, "model"),
        ({"more": 1}, "more"),
    ],
)
async def test_a_bad_body_is_refused_by_field(room: Trying, path: str, wrong: Any, field: str) -> None:
    refused = await room.api.call("POST", path, TOLD | wrong)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)


async def test_there_are_no_more_answers_than_questions(room: Trying) -> None:
    four = [{"question": "Why?", "answer": "So."}] * 4
    assert (await room.api.call("POST", "/perspectives", TOLD | {"answers": four})).status_code == 400


@pytest.mark.parametrize("path", ["/perspectives", "/perspectives/questions"])
async def test_a_server_that_is_about_to_end_begins_nothing(room: Trying, path: str) -> None:
    room.house.hall.drain()
    assert (await room.api.call("POST", path, TOLD)).status_code == 503


@pytest.mark.parametrize("path", ["/perspectives", "/perspectives/questions"])
async def test_who_has_nothing_left_is_refused_and_who_comes_too_often(tmp_path: Path, path: str) -> None:
    settings = Settings(budget=1.0, rates=RateSettings(starts_a_minute=2))
    async with settled("sqlite", tmp_path) as database, trying(database, settings) as room:
        room.cast.says("clerk", {"questions": []}, price=DOLLAR)
        assert (await room.api.call("POST", "/perspectives/questions", TOLD)).status_code == 200
        assert (await room.api.call("POST", path, TOLD)).status_code == 402
        assert (await room.api.call("POST", path, TOLD)).status_code == 429
        assert len(room.cast.asked) == 1
