"""Journeys that are refused, in words that name what is wrong."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.api.journey import Journey
from tests.serving import SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

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
    "a model that is not one": (GOOD | {"participants": ["quick"]}, "participants[0]"),
    "a long model": (GOOD | {"participants": ["lab/" + "x" * 197]}, "participants[0]"),
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
    "many files": (GOOD | {"files": ["file_x"] * 11}, "files"),
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
    for cursor in ("xx", "a'b", "x" * 201):
        reply = await server.get(f"/api/discussions?cursor={cursor}")
        assert (reply.status, reply.body["errors"][0]["field"]) == (400, "cursor")
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
