"""Journeys over HTTP, against `moot serve` as its users have it: a process of its own, on SQLite and on Postgres."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
import pytest_asyncio
from aiohttp import web
from sqlalchemy import delete

from moot.lab.server import Lab
from moot.lab.server import serving as lab_serving
from moot.providers.scripts import BUILT_IN, Script, Scripts
from moot.store.database import Database
from moot.store.schema import rate
from tests.databases import KINDS, database_url
from tests.serving import SECONDS, Frame, MootServer, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

LONG = " ".join(f"word{place}" for place in range(400))
SCRIPTS = {
    **BUILT_IN,
    "quick": Script(answer="Round tables."),
    "other": Script(answer="Square tables."),
    "long": Script(answer=LONG, pace=0.02),
    "big": Script(answer="x" * 180_000, chunk=4000),
    "even": Script(answer="One after the other, and never in a hurry.", chunk=4, pace=0.02),
}


class RecordingLab(Lab):
    """A lab that remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__(Scripts(SCRIPTS))
        self.bodies: list[Any] = []

    def app(self) -> web.Application:
        @web.middleware
        async def record(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            self.bodies.append(await request.json())
            return await handler(request)

        app = super().app()
        app.middlewares.append(record)
        return app


class Journey:
    """A server with a lab behind it, and the steps that the journeys share."""

    def __init__(self, server: MootServer, lab: RecordingLab, database: Database) -> None:
        self.server = server
        self.lab = lab
        self._database = database

    async def rest(self) -> None:
        """Forget how many questions were asked in the last minute."""
        async with self._database.write() as connection:
            await connection.execute(delete(rate))

    async def open(self, *models: str, message: str = "What is a moot?", **more: Any) -> Any:
        body = {"message": message, "participants": list(models), **more}
        reply = await self.server.post("/api/discussions", body)
        assert reply.status == 201, reply.text
        return reply.body

    async def finished(self, *models: str, **more: Any) -> Any:
        """Open a discussion and wait until it was answered."""
        opened = await self.open(*models, **more)
        await self.server.heard(opened["run"]["id"])
        return opened

    async def say(self, discussion: str, message: str, **more: Any) -> Any:
        reply = await self.server.post(
            f"/api/discussions/{discussion}/messages", {"message": message, **more}
        )
        assert reply.status == 202, reply.text
        return reply.body

    async def change(self, discussion: str, **changes: Any) -> Any:
        reply = await self.server.call("PATCH", f"/api/discussions/{discussion}", changes)
        assert reply.status == 200, reply.text
        return reply.body

    async def read(self, discussion: str, query: str = "") -> Any:
        reply = await self.server.get(f"/api/discussions/{discussion}{query}")
        assert reply.status == 200, reply.text
        return reply.body

    async def answers(self, discussion: str) -> list[Any]:
        return [m for m in (await self.read(discussion))["messages"] if m["role"] == "assistant"]

    async def run(self, id: str) -> Any:
        return (await self.server.get(f"/api/runs/{id}")).body

    async def until_speaking(self, run: str, participant: str = "alpha") -> None:
        """Wait for the first words of somebody."""
        async with aclosing(self.server.events(f"/api/runs/{run}/events")) as frames:
            async for frame in frames:
                if frame.data["type"] == "text_delta" and frame.data["participant"] == participant:
                    return
        raise AssertionError(f"{participant} said nothing")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=KINDS)
async def journey(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Journey]:
    folder: Path = tmp_path_factory.mktemp("api")
    lab = RecordingLab()
    async with (
        lab_serving(lab) as lab_url,
        database_url(request.param, folder) as url,
        serving(
            folder, url, settings=f'[providers.lab]\napi = "openai"\nbase_url = "{lab_url}/v1"\n'
        ) as server,
        Database(url) as database,
    ):
        yield Journey(server, lab, database)
        assert '"error"' not in server.logged(), server.logged()


@pytest_asyncio.fixture(loop_scope="module", autouse=True)
async def rested(journey: Journey) -> None:
    await journey.rest()


def text_of(events: list[Any], participant: str) -> str:
    """Put together what a reader saw of one participant, starting anew where it is told to."""
    text = ""
    for event in events:
        if event.get("participant") == participant:
            match event["type"]:
                case "turn_started":
                    text = ""
                case "text_delta":
                    text += event["text"]
    return text


def ended(events: list[Any], participant: str) -> Any:
    (turn,) = [e for e in events if e["type"] == "turn_ended" and e["participant"] == participant]
    return turn


async def test_a_discussion_is_answered_for_before_any_model_is_called(journey: Journey) -> None:
    opened = await journey.open("scripted/silence", message="Is anybody there?\nIt is dark.")
    assert opened["discussion"]["title"] == "Is anybody there?"
    assert opened["discussion"]["participants"] == [
        {"id": "alpha", "name": "Alpha", "model": "scripted/silence"}
    ]
    assert (opened["run"]["status"], opened["run"]["message"]) == ("waiting", opened["message"]["id"])

    found = await journey.read(opened["discussion"]["id"])
    assert found["messages"] == [opened["message"]]
    assert [run["id"] for run in found["runs"]] == [opened["run"]["id"]]

    await journey.server.post(f"/api/runs/{opened['run']['id']}/stop")
    assert (await journey.server.heard(opened["run"]["id"]))[-1]["status"] == "stopped"
    assert (await journey.read(opened["discussion"]["id"]))["runs"] == []


async def test_two_lanes_stream_at_the_same_time(journey: Journey) -> None:
    opened = await journey.open("lab/long", "lab/long", mode="parallel")
    run = opened["run"]["id"]
    speaking: set[str] = set()
    async with aclosing(journey.server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            assert frame.data["type"] != "turn_ended", "nobody has ended before both have begun"
            if frame.data["type"] == "text_delta":
                speaking.add(frame.data["participant"])
            if speaking == {"alpha", "beta"}:
                break
    await journey.server.post(f"/api/runs/{run}/stop")
    events = await journey.server.heard(run)
    assert {ended(events, who)["status"] for who in ("alpha", "beta")} == {"stopped"}


async def test_what_is_kept_is_what_was_shown(journey: Journey) -> None:
    opened = await journey.open("lab/even", "lab/even", mode="parallel")
    events = await journey.server.heard(opened["run"]["id"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "run_ended")
    kept = {m["participant"]: m for m in await journey.answers(opened["discussion"]["id"])}
    for who in ("alpha", "beta"):
        said = text_of(events, who)
        assert said == SCRIPTS["even"].answer
        assert said == ended(events, who)["message"]["text"] == kept[who]["content"]
        assert (kept[who]["status"], kept[who]["model"]) == ("completed", "lab/even")
        assert kept[who]["usage"]["output"] > 0


async def test_a_reader_may_come_back_at_every_number(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="parallel")
    path = f"/api/runs/{opened['run']['id']}/events"
    everything = [frame.id async for frame in journey.server.events(path)]
    assert everything == list(range(1, len(everything) + 1))
    for number in everything[:-1]:
        by_query = [frame.id async for frame in journey.server.events(f"{path}?after={number}")]
        by_header = [
            frame.id
            async for frame in journey.server.events(f"{path}?after=0", {"Last-Event-ID": str(number)})
        ]
        assert by_query == by_header == everything[number:]
    for header, query in (({}, f"?after={everything[-1]}"), ({"Last-Event-ID": str(everything[-1])}, "")):
        reply = await journey.server.get(path + query, header)
        assert (reply.status, reply.text) == (204, "")


async def test_a_reader_that_leaves_a_live_run_again_and_again_misses_nothing(journey: Journey) -> None:
    opened = await journey.open("lab/even", "lab/even", mode="parallel")
    seen: list[Frame] = []
    while not seen or seen[-1].data["type"] != "run_ended":
        after = str(seen[-1].id) if seen else "0"
        path = f"/api/runs/{opened['run']['id']}/events"
        async with aclosing(journey.server.events(path, {"Last-Event-ID": after})) as frames:
            async for frame in frames:
                seen.append(frame)
                if frame.data["type"] == "text_delta":
                    break
    assert [frame.id for frame in seen] == list(range(1, len(seen) + 1))
    assert text_of([frame.data for frame in seen], "beta") == SCRIPTS["even"].answer


@pytest.mark.parametrize("number", ["999999", "x", "-1", "1.5", "9" * 40, "\u00b2"])
async def test_a_number_that_never_was_is_answered_with_one_resync(journey: Journey, number: str) -> None:
    opened = await journey.finished("lab/quick")
    path = f"/api/runs/{opened['run']['id']}/events"
    frames = [frame async for frame in journey.server.events(path, {"Last-Event-ID": number})]
    assert (frames[0].event, frames[0].id, frames[0].data) == ("resync", None, {"type": "resync", "after": 0})
    assert [frame.id for frame in frames[1:]] == list(range(1, len(frames)))
    if number.isascii() and number.isdigit():
        again = [frame async for frame in journey.server.events(f"{path}?after={number}")]
        assert again == frames


async def test_a_stop_ends_the_call_and_keeps_what_was_said(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    run = opened["run"]["id"]
    await journey.until_speaking(run)
    stopped = await journey.server.post(f"/api/runs/{run}/stop")
    assert (stopped.status, stopped.body["id"]) == (200, run)

    events = await journey.server.heard(run)
    turn = ended(events, "alpha")
    assert (turn["status"], events[-1]["status"]) == ("stopped", "stopped")
    assert LONG.startswith(turn["message"]["text"])
    assert 0 < len(turn["message"]["text"]) < len(LONG)
    (kept,) = await journey.answers(opened["discussion"]["id"])
    assert (kept["status"], kept["content"]) == ("stopped", text_of(events, "alpha"))
    async with asyncio.timeout(SECONDS):
        while journey.lab.calls[-1].ended != "client left":
            await asyncio.sleep(0.02)

    again = await journey.server.post(f"/api/runs/{run}/stop", {})
    assert (again.status, again.body["status"]) == (200, "stopped")


async def test_one_participant_can_be_stopped_while_the_others_go_on(journey: Journey) -> None:
    opened = await journey.open("lab/long", "lab/even", mode="parallel")
    run = opened["run"]["id"]
    await journey.until_speaking(run, "alpha")
    reply = await journey.server.post(f"/api/runs/{run}/stop", {"participant": "alpha"})
    assert reply.status == 200
    events = await journey.server.heard(run)
    assert ended(events, "alpha")["status"] == "stopped"
    assert ended(events, "beta")["status"] == "completed"
    assert events[-1]["status"] == "completed"
    nobody = await journey.server.post(f"/api/runs/{run}/stop", {"participant": "omega"})
    assert nobody.status == 200, "a run that is over stays as it is"


async def test_a_stop_that_races_the_end_leaves_one_end(journey: Journey) -> None:
    runs = [await journey.open("lab/quick") for _ in range(6)]
    await asyncio.gather(*(journey.server.post(f"/api/runs/{one['run']['id']}/stop") for one in runs))
    for one in runs:
        events = await journey.server.heard(one["run"]["id"])
        (end,) = [event for event in events if event["type"] == "run_ended"]
        assert (await journey.run(one["run"]["id"]))["status"] == end["status"]
        assert len([event for event in events if event["type"] == "turn_ended"]) <= 1


async def test_a_new_message_interrupts_and_the_next_answer_has_heard_the_last(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion, first = opened["discussion"]["id"], opened["run"]["id"]
    await journey.until_speaking(first)
    await journey.change(discussion, participants=["lab/echo"])
    second = (await journey.say(discussion, "Wait: something else."))["run"]["id"]

    events = await journey.server.heard(first)
    assert (ended(events, "alpha")["status"], events[-1]["status"]) == ("interrupted", "interrupted")
    later = await journey.server.heard(second)
    assert later[0]["at"] >= events[-1]["at"]
    messages = (await journey.read(discussion))["messages"]
    assert [m["run"] for m in messages if m["role"] == "assistant"] == [first, second]
    sent = journey.lab.bodies[-1]["messages"]
    assert {"role": "assistant", "content": text_of(events, "alpha")} in sent
    assert "Wait: something else." in str(sent)


async def test_what_was_interrupted_comes_before_what_interrupted_it(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion = opened["discussion"]["id"]
    await journey.until_speaking(opened["run"]["id"])
    second = (await journey.say(discussion, "Wait: something else."))["run"]["id"]
    await journey.until_speaking(second)
    await journey.server.post(f"/api/runs/{second}/stop")
    await journey.server.heard(second)
    assert journey.lab.bodies[-1]["messages"][-1] == {"role": "user", "content": "Wait: something else."}
    roles = [m["role"] for m in (await journey.read(discussion))["messages"]]
    assert roles == ["user", "assistant", "user", "assistant"]


async def test_everything_may_be_different_at_the_next_message(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", message="Which tables are best?")
    discussion = opened["discussion"]["id"]
    changed = await journey.change(
        discussion,
        title="Tables",
        mode="parallel",
        participants=["lab/quick", {"model": "lab/other", "name": "Carpenter", "temperature": 0.5}],
        rounds=3,
        language="de",
        model="lab/other",
    )
    assert (changed["title"], changed["mode"], changed["rounds"]) == ("Tables", "parallel", 3)
    await journey.server.heard((await journey.say(discussion, "And now?"))["run"]["id"])
    answers = (await journey.answers(discussion))[1:]
    assert {(m["name"], m["model"], m["content"]) for m in answers} == {
        ("Alpha", "lab/other", "Square tables."),
        ("Carpenter", "lab/other", "Square tables."),
    }
    assert any("German" in str(body["messages"][0]) for body in journey.lab.bodies[-2:])

    await journey.change(discussion, model=None, mode="single")
    await journey.server.heard((await journey.say(discussion, "Alone?"))["run"]["id"])
    last = (await journey.answers(discussion))[-1]
    assert (last["name"], last["model"], last["content"]) == ("Alpha", "lab/quick", "Round tables.")

    before = await journey.read(discussion)
    assert await journey.change(discussion) == before["discussion"], "nothing asked, nothing changed"


async def test_only_those_who_are_addressed_answer(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="parallel")
    discussion = opened["discussion"]["id"]
    said = await journey.say(discussion, "Only you.", to=["beta"])
    await journey.server.heard(said["run"]["id"])
    assert said["message"]["audience"] == ["beta"]
    assert [m["participant"] for m in await journey.answers(discussion)][2:] == ["beta"]
    reply = await journey.server.post(
        f"/api/discussions/{discussion}/messages", {"message": "Who?", "to": ["omega"]}
    )
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, "to")


async def test_a_consensus_of_two_in_two_rounds_is_four_messages(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="consensus", rounds=2)
    answers = await journey.answers(opened["discussion"]["id"])
    assert [(m["round"], m["participant"]) for m in answers] == [
        (0, "alpha"),
        (0, "beta"),
        (1, "alpha"),
        (1, "beta"),
    ]
    last = str(journey.lab.bodies[-1]["messages"])
    assert last.count("Round tables.") == 2
    assert last.count("Square tables.") == 1


async def test_the_table_goes_on_after_the_last_speaker_and_round_again(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", "lab/even", mode="single")
    path = f"/api/discussions/{opened['discussion']['id']}/continue"
    once = await journey.server.post(path)
    assert (once.status, once.body["message"]) == (202, None)
    await journey.server.heard(once.body["run"]["id"])
    more = await journey.server.post(path, {"turns": 3})
    await journey.server.heard(more.body["run"]["id"])
    spoke = [m["participant"] for m in await journey.answers(opened["discussion"]["id"])]
    assert spoke == ["alpha", "beta", "gamma", "alpha", "beta"]


async def test_a_table_that_goes_on_by_itself_stops_when_it_is_told(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/long", mode="single")
    path = f"/api/discussions/{opened['discussion']['id']}/continue"
    run = (await journey.server.post(path, {"turns": 50})).body["run"]["id"]
    await journey.until_speaking(run, "beta")
    busy = await journey.server.post(path)
    assert (busy.status, run in busy.body["detail"]) == (409, True)
    await journey.server.post(f"/api/runs/{run}/stop")
    events = await journey.server.heard(run)
    assert [e["participant"] for e in events if e["type"] == "turn_ended"] == ["beta"]
    assert events[-1]["status"] == "stopped"


async def test_a_lane_that_fails_says_why_and_the_others_go_on(journey: Journey) -> None:
    opened = await journey.finished("lab/unauthorized", "openai/gpt-5-mini", "lab/quick", mode="parallel")
    answers = {m["participant"]: m for m in await journey.answers(opened["discussion"]["id"])}
    assert {who: m["status"] for who, m in answers.items()} == {
        "alpha": "failed",
        "beta": "failed",
        "gamma": "completed",
    }
    assert "Key rejected for lab" in answers["alpha"]["fault"]["message"]
    assert "OPENAI_API_KEY" in answers["beta"]["fault"]["message"]
    assert (await journey.run(opened["run"]["id"]))["status"] == "completed"
    nobody = await journey.finished("openai/gpt-5-mini")
    assert (await journey.run(nobody["run"]["id"]))["status"] == "failed"


async def test_the_prompt_that_is_shown_is_the_one_that_was_sent(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="consensus", rounds=2)
    discussion = opened["discussion"]["id"]
    await journey.server.heard((await journey.say(discussion, "So what now?"))["run"]["id"])
    sent = journey.lab.bodies[-8:]
    for answer, body in zip(await journey.answers(discussion), sent, strict=True):
        shown = await journey.server.get(f"/api/discussions/{discussion}/turns/{answer['id']}/prompt")
        assert shown.status == 200
        assert as_sent(shown.body) == body["messages"]
    asked = (await journey.read(discussion))["messages"][0]["id"]
    no_turn = await journey.server.get(f"/api/discussions/{discussion}/turns/{asked}/prompt")
    assert no_turn.status == 404


def as_sent(prompt: Any) -> list[Any]:
    """Write a prompt in the words of the format that the lab speaks."""
    told = [
        {"role": m["role"], "content": "\n\n".join(part["text"] for part in m["parts"])}
        for m in prompt["messages"]
    ]
    return [{"role": "system", "content": prompt["system"]}, *told]


async def test_discussions_are_listed_newest_first_and_a_page_at_a_time(journey: Journey) -> None:
    opened = [
        (await journey.finished("lab/quick", message=f"On paging, part {part}"))["discussion"]["id"]
        for part in range(3)
    ]
    first = (await journey.server.get("/api/discussions?limit=2")).body
    assert [one["id"] for one in first["discussions"]] == [opened[2], opened[1]]
    second = (await journey.server.get(f"/api/discussions?limit=1&cursor={quote(first['next'])}")).body
    assert [one["id"] for one in second["discussions"]] == [opened[0]]

    await journey.server.heard((await journey.say(opened[0], "Newer again."))["run"]["id"])
    newest = (await journey.server.get("/api/discussions?limit=1")).body
    assert newest["discussions"][0]["id"] == opened[0]

    archived = await journey.server.post(f"/api/discussions/{opened[1]}/archive")
    assert (archived.status, archived.body["status"]) == (200, "archived")
    put_away = (await journey.server.get("/api/discussions?status=archived")).body
    assert [one["id"] for one in put_away["discussions"]] == [opened[1]]


async def test_discussions_are_found_by_their_titles_and_by_what_was_said(journey: Journey) -> None:
    titled = await journey.finished("lab/quick", message="Hello", title="Concerning xylophones")
    asked = await journey.finished("lab/echo", message="Does a xylophone have strings?")
    path = "/api/discussions?q="
    found = {one["id"] for one in (await journey.server.get(f"{path}xylophon")).body["discussions"]}
    assert found == {titled["discussion"]["id"], asked["discussion"]["id"]}
    strings = (await journey.server.get(f"{path}xylophone%20strings")).body["discussions"]
    assert [one["id"] for one in strings] == [asked["discussion"]["id"]]
    for odd in ("%22", "'", "*", "a%20OR%20b", "NEAR(", "\u2028", "%25", "%F0%9F%8E%B6"):
        assert (await journey.server.get(path + odd)).status == 200


async def test_messages_come_a_page_at_a_time(journey: Journey) -> None:
    opened = await journey.finished("lab/quick", "lab/other", mode="consensus", rounds=3)
    discussion = opened["discussion"]["id"]
    everything = (await journey.read(discussion))["messages"]
    assert len(everything) == 7
    newest = await journey.read(discussion, "?limit=3")
    earlier = await journey.read(discussion, f"?limit=3&before={newest['before']}")
    oldest = await journey.read(discussion, f"?limit=3&before={earlier['before']}")
    assert [*oldest["messages"], *earlier["messages"], *newest["messages"]] == everything
    assert oldest["before"] is None


async def test_a_deleted_discussion_is_gone_with_all_that_was_said(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    await journey.until_speaking(run)
    refused = await journey.server.call("DELETE", f"/api/discussions/{discussion}")
    assert (refused.status, run in refused.body["detail"]) == (409, True)
    await journey.server.post(f"/api/runs/{run}/stop")
    await journey.server.heard(run)
    (answer,) = await journey.answers(discussion)

    deleted = await journey.server.call("DELETE", f"/api/discussions/{discussion}")
    assert (deleted.status, deleted.text) == (204, "")
    for path in (
        f"/api/discussions/{discussion}",
        f"/api/discussions/{discussion}/turns/{answer['id']}/prompt",
        f"/api/runs/{run}",
        f"/api/runs/{run}/events",
    ):
        assert (await journey.server.get(path)).status == 404
    assert (await journey.server.call("DELETE", f"/api/discussions/{discussion}")).status == 404


async def test_a_request_that_comes_twice_with_one_key_is_done_once(journey: Journey) -> None:
    body = {"message": "Once and only once.", "participants": ["lab/quick"]}
    key = {"Idempotency-Key": "the first key"}
    at_once = await asyncio.gather(*(journey.server.post("/api/discussions", body, key) for _ in range(4)))
    assert {(reply.status, reply.text) for reply in at_once} == {(201, at_once[0].text)}
    discussion = at_once[0].body["discussion"]["id"]
    other = await journey.server.post("/api/discussions", body | {"message": "Something else."}, key)
    assert other.status == 409

    path = f"/api/discussions/{discussion}/messages"
    key = {"Idempotency-Key": "the second key"}
    said = await asyncio.gather(*(journey.server.post(path, {"message": "And?"}, key) for _ in range(4)))
    assert {(reply.status, reply.text) for reply in said} == {(202, said[0].text)}
    for run in (at_once[0].body["run"]["id"], said[0].body["run"]["id"]):
        await journey.server.heard(run)
    told = [m["content"] for m in (await journey.read(discussion))["messages"] if m["role"] == "user"]
    assert told == ["Once and only once.", "And?"]


async def test_whoever_watches_is_told_what_changes(journey: Journey) -> None:
    async with aclosing(journey.server.events("/api/events")) as changes:
        assert (await anext(changes)).data["type"] == "activity"
        opened = await journey.finished("lab/quick")
        discussion = opened["discussion"]["id"]
        told = [(await anext(changes)).data]
        assert told[0]["type"] == "discussion_changed"
        while told[-1]["runs"]:
            told.append((await anext(changes)).data)
        assert {one["discussion"]["id"] for one in told} == {discussion}
        await journey.change(discussion, title="Renamed")
        assert (await anext(changes)).data["discussion"]["title"] == "Renamed"
        await journey.server.call("DELETE", f"/api/discussions/{discussion}")
        assert (await anext(changes)).data == {"type": "discussion_deleted", "id": discussion}


async def test_whoever_comes_to_watch_is_told_first_what_goes_on(journey: Journey) -> None:
    opened = await journey.open("lab/long")
    await journey.until_speaking(opened["run"]["id"])
    async with aclosing(journey.server.events("/api/events")) as changes:
        activity = (await anext(changes)).data
    assert [run["id"] for run in activity["runs"]] == [opened["run"]["id"]]
    await journey.server.post(f"/api/runs/{opened['run']['id']}/stop")
    await journey.server.heard(opened["run"]["id"])


GOOD = {"message": "What is a moot?", "participants": ["lab/quick"]}
BAD = {
    "no message": ({"participants": ["lab/quick"]}, "message"),
    "empty message": (GOOD | {"message": ""}, "message"),
    "blank message": (GOOD | {"message": " \n\t"}, "message"),
    "NUL for a message": (GOOD | {"message": "\0"}, "message"),
    "long message": (GOOD | {"message": "x" * 10_001}, "message"),
    "message of another type": (GOOD | {"message": 1}, "message"),
    "no participants": ({"message": "What?"}, "participants"),
    "an empty table": (GOOD | {"participants": []}, "participants"),
    "too many participants": (GOOD | {"participants": ["lab/quick"] * 25}, "participants"),
    "participants of another type": (GOOD | {"participants": "lab/quick"}, "participants"),
    "a participant of another type": (GOOD | {"participants": [1]}, "participants[0]"),
    "an unknown provider": (GOOD | {"participants": ["lab/quick", "nobody/x"]}, "participants[1].model"),
    "an unknown script": (GOOD | {"participants": ["scripted/nothing"]}, "participants[0].model"),
    "no model": (GOOD | {"participants": [{"name": "Ada"}]}, "participants[0].model"),
    "a name twice": (
        GOOD
        | {"participants": [{"model": "lab/quick", "name": "Ada"}, {"model": "lab/quick", "name": "ada"}]},
        "participants[1].name",
    ),
    "a name of two lines": (
        GOOD | {"participants": [{"model": "lab/quick", "name": "Ada\n"}]},
        "participants[0].name",
    ),
    "hot": (
        GOOD | {"participants": [{"model": "lab/quick", "temperature": 3}]},
        "participants[0].temperature",
    ),
    "an unknown mode": (GOOD | {"mode": "shouting"}, "mode"),
    "no rounds": (GOOD | {"rounds": 0}, "rounds"),
    "many rounds": (GOOD | {"rounds": 11}, "rounds"),
    "an empty title": (GOOD | {"title": "  "}, "title"),
    "a long title": (GOOD | {"title": "x" * 201}, "title"),
    "an unknown model": (GOOD | {"model": "nobody/x"}, "model"),
    "an unknown language": (GOOD | {"language": "xx"}, "language"),
    "an unknown field": (GOOD | {"colour": "red"}, "colour"),
    "a list": ([GOOD], "body"),
    "a number": (3, "body"),
    "null": (b"null", "body"),
    "nothing": (b"", "body"),
    "half a body": (b'{"message": ', "body"),
    "a lone surrogate": (b'{"message": "\\ud800", "participants": ["lab/quick"]}', "body"),
    "no UTF-8": (b'{"message": "\xff", "participants": ["lab/quick"]}', "body"),
    "deep JSON": (b"[" * 400_000, "body"),
    "deep JSON in a field": (b'{"message": ' + b"[" * 400_000, "body"),
}


async def test_a_bad_body_is_refused_by_the_name_of_its_field_and_leaves_nothing(journey: Journey) -> None:
    before = (await journey.server.get("/api/discussions")).text
    for what, (body, field) in BAD.items():
        reply = await journey.server.post("/api/discussions", body)
        assert (reply.status, reply.headers["Content-Type"]) == (400, "application/problem+json"), what
        assert [error["field"] for error in reply.body["errors"]] == [field], what
        assert (reply.body["status"], reply.body["title"]) == (400, "Bad request")
        assert field in reply.body["detail"]
    assert (await journey.server.get("/api/discussions")).text == before


async def test_ids_that_are_not_there_are_not_found(journey: Journey) -> None:
    opened = await journey.finished("lab/quick")
    here = opened["discussion"]["id"]
    for method, path, body in (
        ("GET", "/api/discussions/dis_none", None),
        ("PATCH", "/api/discussions/dis_none", {"title": "New"}),
        ("PATCH", f"/api/discussions/{here}", {"persona": "none"}),
        ("PATCH", f"/api/discussions/{here}", {"project": "none"}),
        ("DELETE", "/api/discussions/dis_none", None),
        ("POST", "/api/discussions/dis_none/messages", {"message": "Hello?"}),
        ("POST", "/api/discussions/dis_none/continue", None),
        ("POST", "/api/discussions/dis_none/archive", None),
        ("GET", f"/api/discussions/{here}/turns/none/prompt", None),
        ("GET", "/api/runs/run_none", None),
        ("GET", "/api/runs/run_none/events", None),
        ("POST", "/api/runs/run_none/stop", None),
        ("POST", "/api/discussions", GOOD | {"persona": "none"}),
        ("POST", "/api/discussions", GOOD | {"project": "none"}),
        ("POST", "/api/discussions", GOOD | {"participants": [{"model": "lab/quick", "persona": "none"}]}),
        ("GET", f"/api/discussions/{here}%00", None),
        ("GET", f"/api/discussions/{quote('dis_ä🙂')}", None),
        ("GET", "/api/nothing", None),
        ("GET", "/nothing", None),
    ):
        reply = await journey.server.call(method, path, body)
        assert (reply.status, reply.headers["Content-Type"]) == (404, "application/problem+json"), path


async def test_what_does_not_fit_into_the_protocol_is_refused(journey: Journey) -> None:
    server = journey.server
    large = await server.post("/api/discussions", b" " * 1_000_001)
    assert (large.status, large.body["title"]) == (413, "Request entity too large")
    form = await server.post("/api/discussions", b"message=x", {"Content-Type": "text/plain"})
    assert (form.status, "application/json" in form.body["detail"]) == (415, True)
    method = await server.call("PUT", "/api/discussions", GOOD)
    assert (method.status, "POST" in method.headers["Allow"]) == (405, True)
    for query in ("limit=0", "limit=101", "limit=x", "status=gone", "cursor=xx", "q=%00", "project=%00"):
        reply = await server.get(f"/api/discussions?{query}")
        assert (reply.status, reply.headers["Content-Type"]) == (400, "application/problem+json"), query
    opened = await journey.finished("lab/quick")
    for query in ("before=0", f"before={2**63}", "limit=-1"):
        reply = await server.get(f"/api/discussions/{opened['discussion']['id']}?{query}")
        assert (reply.status, reply.body["errors"][0]["field"]) == (400, query.partition("=")[0])
    for query in ("after=-1", "after=x"):
        assert (await server.get(f"/api/runs/{opened['run']['id']}/events?{query}")).status == 400


async def test_a_body_that_never_ends_is_cut_off_at_the_limit(journey: Journey) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"message": "'
        while True:
            yield b"x" * 100_000
            await asyncio.sleep(0)

    sending = journey.server.http.post(
        f"{journey.server.url}/api/discussions", data=endless(), headers={"Content-Type": "application/json"}
    )
    async with asyncio.timeout(SECONDS), sending as response:
        assert response.status == 413


async def test_how_the_server_stands_is_told(journey: Journey) -> None:
    for path in ("/healthz", "/readyz"):
        reply = await journey.server.get(path)
        assert (reply.status, reply.text) == (200, "ok")
    metrics = await journey.server.get("/metrics")
    assert metrics.status == 200
    assert metrics.headers["Content-Type"].startswith("text/plain; version=")
    assert "moot_" in metrics.text


def memory(server: MootServer) -> int:
    """How many bytes a server's process holds."""
    status = Path(f"/proc/{server.running.pid}/status").read_text("utf-8")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) * 1024


def not_reading(server: MootServer, path: str) -> socket.socket:
    """Ask for a stream and never read it."""
    address = urlsplit(server.url)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((address.hostname, address.port))
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
    return sock


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells so easily")
async def test_readers_that_do_not_read_cost_little(journey: Journey) -> None:
    opened = await journey.finished(*["lab/big"] * 24, mode="parallel")
    path = f"/api/runs/{opened['run']['id']}/events"
    whole = len((await journey.server.get(path)).text)
    assert whole > 24 * 2 * 180_000
    before = memory(journey.server)
    stuck = [not_reading(journey.server, path) for _ in range(40)]
    held = [0]
    while len(held) < 4 or held[-1] > held[-3]:
        await asyncio.sleep(0.5)
        held.append(memory(journey.server) - before)
    for sock in stuck:
        sock.close()
    assert (await journey.server.get("/readyz")).status == 200
    assert max(held) < whole * len(stuck) / 3
