from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from moot.settings import RateSettings, Settings
from moot.types.evaluations import MAX_IMPROVEMENT_ROUNDS
from tests.databases import SLOW_ON_POSTGRES
from tests.server.trying import ASSERTIONS, DOLLAR, Trying, judgement, rewritten, trying
from tests.store.people import ANNA, BERT, settled

SCEPTIC = "shipped_sceptic"


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Trying]:
    async with settled(request.param, tmp_path) as database, trying(database) as room:
        yield room


def types(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


async def test_an_answer_is_judged_and_the_trial_is_read_again(room: Trying) -> None:
    message = await room.answered()
    room.cast.says("judge", judgement(True, False))
    body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
    judged = await room.api.ok("POST", f"/messages/{message.id}/assertions", body)
    trial = judged["trial"]
    assert trial["assertions"] == ["It gives a reason.", "It names a source."]
    assert [one["passed"] for one in trial["verdicts"]] == [True, False]
    assert (trial["judge"], judged["cost"]) == ("scripted/judge", 0.0)
    assert await room.api.ok("GET", f"/trials/{trial['id']}") == trial
    assert await room.api.ok("GET", f"/messages/{message.id}/assertions") == [trial]
    assert list(await room.paid()) == ["assertion"]


async def test_a_trial_is_improved_accepted_and_undone(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.cast.says("judge", rewritten("You name sources."), judgement(True, True))
    room.cast.says("alpha", "Because, says Vitruvius.")
    events = await room.improved(trial["id"])
    assert types(events) == ["improving", "rewritten", "answered", "round_ended", "done"]
    assert events[-1]["outcome"] == "all_pass"
    assert events[-2]["round"]["better"]
    assert room.cast.asked[-2].system.startswith("You take the part of Alpha.\n\nYou name sources.")

    accepted = await room.api.ok("POST", f"/trials/{trial['id']}/accept")
    done = accepted["acceptance"]
    assert (done["made"], done["before"], done["after"]) == (True, "", "You name sources.")
    assert accepted["accepted_at"] is not None
    persona = await room.api.ok("GET", f"/personas/{done['persona']}")
    assert (persona["name"], persona["description"]) == ("Alpha", "You name sources.")
    assert await room.api.ok("POST", f"/trials/{trial['id']}/accept") == accepted, "once is enough"

    undone = await room.api.ok("POST", f"/trials/{trial['id']}/undo")
    assert (undone["acceptance"], undone["accepted_at"]) == (None, None)
    assert (await room.api.call("GET", f"/personas/{done['persona']}")).status_code == 404
    assert (await room.api.call("POST", f"/trials/{trial['id']}/undo")).status_code == 409


async def test_at_most_ten_rounds_are_tried_over_all_calls(room: Trying) -> None:
    trial = await room.judged(False, False)
    room.cast.says("judge", *[rewritten("x"), judgement(False, False)] * MAX_IMPROVEMENT_ROUNDS)
    events = await room.improved(trial["id"])
    assert types(events).count("round_ended") == MAX_IMPROVEMENT_ROUNDS
    assert events[-1]["outcome"] == "no_more_rounds"
    asked = len(room.cast.asked)
    again = await room.improved(trial["id"])
    assert types(again) == ["improving", "done"]
    assert len(room.cast.asked) == asked
    refused = await room.api.call("POST", f"/trials/{trial['id']}/accept")
    assert (refused.status_code, "better" in refused.json()["detail"]) == (409, True)


async def test_what_fails_on_the_way_ends_the_stream_with_words_and_keeps_the_rounds(room: Trying) -> None:
    trial = await room.judged(False, False)
    room.cast.says("judge", rewritten("One."), judgement(True, False), "No.", "No.")
    events = await room.improved(trial["id"])
    assert (events[-1]["outcome"], len(events[-1]["trial"]["rounds"])) == ("failed", 1)
    assert "scripted/judge" in events[-1]["message"]
    room.cast.says("judge", rewritten("Two."), judgement(True, True))
    events = await room.improved(trial["id"])
    assert [len(events[0]["trial"]["rounds"]), events[-1]["outcome"]] == [1, "all_pass"]
    assert "One." in room.cast.heard("A language model answers in a part")[-1], "it goes on from the best"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "assertions"),
        ({"assertions": ""}, "assertions"),
        ({"assertions": " \n "}, "assertions"),
        ({"assertions": "\n".join("x" * 21)}, "assertions"),
        ({"assertions": "x" * 501}, "assertions"),
        ({"assertions": "x", "judge": "gpt"}, "judge"),
        ({"assertions": "x", "judge": "scripted/nobody"}, "judge"),
        ({"assertions": "x", "model": "a/b"}, "model"),
    ],
)
async def test_a_bad_body_is_refused_by_field(room: Trying, body: Any, field: str) -> None:
    message = await room.answered()
    refused = await room.api.call("POST", f"/messages/{message.id}/assertions", body)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, field)


async def test_what_is_no_answer_cannot_be_judged(room: Trying) -> None:
    message = await room.answered()
    run = await room.house.runs.get_run(ANNA, message.run or "")
    refused = await room.api.call("POST", f"/messages/{run.message}/assertions", {"assertions": "x"})
    assert refused.status_code == 409


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/messages/{message}/assertions"),
        ("GET", "/messages/{message}/assertions"),
        ("GET", "/trials/{trial}"),
        ("POST", "/trials/{trial}/improve"),
        ("POST", "/trials/{trial}/accept"),
        ("POST", "/trials/{trial}/undo"),
    ],
)
async def test_anothers_trial_is_not_there(room: Trying, method: str, path: str) -> None:
    trial = await room.judged(True, False)
    asked = len(room.cast.asked)
    body = {"assertions": "x"} if method == "POST" and "messages" in path else None
    there = path.format(message=trial["message"], trial=trial["id"])
    reply = await room.api.call(method, there, body, tenant=BERT)
    assert reply.status_code == 404
    assert len(room.cast.asked) == asked
    assert await room.api.ok("GET", f"/trials/{trial['id']}") == trial


async def test_who_has_nothing_left_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    settings = Settings(budget=1.0)
    async with settled("sqlite", tmp_path) as database, trying(database, settings) as room:
        message = await room.answered()
        room.cast.says("judge", judgement(True, False), price=DOLLAR)
        body = {"assertions": ASSERTIONS, "judge": "scripted/judge"}
        trial = (await room.api.ok("POST", f"/messages/{message.id}/assertions", body))["trial"]
        asked = len(room.cast.asked)
        for path, again in (
            (f"/messages/{message.id}/assertions", body),
            (f"/trials/{trial['id']}/improve", None),
        ):
            assert (await room.api.call("POST", path, again)).status_code == 402
        assert len(room.cast.asked) == asked


async def test_judging_and_improving_count_as_work_for_providers(tmp_path: Path) -> None:
    settings = Settings(rates=RateSettings(starts_a_minute=2))
    async with settled("sqlite", tmp_path) as database, trying(database, settings) as room:
        trial = await room.judged(True, True)
        assert types(await room.improved(trial["id"])) == ["improving", "done"]
        assert (await room.api.call("POST", f"/trials/{trial['id']}/improve")).status_code == 429


async def test_a_server_that_is_about_to_end_begins_nothing(room: Trying) -> None:
    trial = await room.judged(True, False)
    room.house.hall.drain()
    for path, body in (
        (f"/messages/{trial['message']}/assertions", {"assertions": "x"}),
        (f"/trials/{trial['id']}/improve", None),
    ):
        assert (await room.api.call("POST", path, body)).status_code == 503
