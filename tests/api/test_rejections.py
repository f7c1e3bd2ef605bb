"""Invalid requests: the API rejects them, and names the field that is wrong."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from tests.api.api_client import ApiClient
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

VALID_BODY = {"message": "What is a moot?", "participants": ["lab/quick"]}
INVALID_BODIES = {
    "no message": ({"participants": ["lab/quick"]}, "message"),
    "empty message": (VALID_BODY | {"message": ""}, "message"),
    "blank message": (VALID_BODY | {"message": " \n\t"}, "message"),
    "NUL for a message": (VALID_BODY | {"message": "\0"}, "message"),
    "long message": (VALID_BODY | {"message": "x" * 10_001}, "message"),
    "message of another type": (VALID_BODY | {"message": 1}, "message"),
    "no participants": ({"message": "What?"}, "participants"),
    "an empty table": (VALID_BODY | {"participants": []}, "participants"),
    "too many participants": (VALID_BODY | {"participants": ["lab/quick"] * 25}, "participants"),
    "participants of another type": (VALID_BODY | {"participants": "lab/quick"}, "participants"),
    "a participant of another type": (VALID_BODY | {"participants": [1]}, "participants[0]"),
    "an unknown provider": (
        VALID_BODY | {"participants": ["lab/quick", "nobody/x"]},
        "participants[1].model",
    ),
    "an unknown script": (VALID_BODY | {"participants": ["scripted/nothing"]}, "participants[0].model"),
    "a model that is not one": (VALID_BODY | {"participants": ["quick"]}, "participants[0]"),
    "a long model": (VALID_BODY | {"participants": ["lab/" + "x" * 197]}, "participants[0]"),
    "no model": (VALID_BODY | {"participants": [{"name": "Ada"}]}, "participants[0].model"),
    "a name twice": (
        VALID_BODY | {"participants": [{"model": "lab/quick", "name": "Ada"}, {"model": "lab/quick", "name": "ada"}]},
        "participants[1].name",
    ),
    "a name of two lines": (
        VALID_BODY | {"participants": [{"model": "lab/quick", "name": "Ada\n"}]},
        "participants[0].name",
    ),
    "hot": (
        VALID_BODY | {"participants": [{"model": "lab/quick", "temperature": 3}]},
        "participants[0].temperature",
    ),
    "many files": (VALID_BODY | {"files": ["file_x"] * 11}, "files"),
    "an unknown mode": (VALID_BODY | {"mode": "shouting"}, "mode"),
    "no rounds": (VALID_BODY | {"rounds": 0}, "rounds"),
    "many rounds": (VALID_BODY | {"rounds": 11}, "rounds"),
    "an empty title": (VALID_BODY | {"title": "  "}, "title"),
    "a long title": (VALID_BODY | {"title": "x" * 201}, "title"),
    "an unknown model": (VALID_BODY | {"model": "nobody/x"}, "model"),
    "an unknown language": (VALID_BODY | {"language": "xx"}, "language"),
    "an unknown field": (VALID_BODY | {"colour": "red"}, "colour"),
    "a list": ([VALID_BODY], "body"),
    "a number": (3, "body"),
    "null": (b"null", "body"),
    "nothing": (b"", "body"),
    "half a body": (b'{"message": ', "body"),
    "a lone surrogate": (b'{"message": "\\ud800", "participants": ["lab/quick"]}', "body"),
    "no UTF-8": (b'{"message": "\xff", "participants": ["lab/quick"]}', "body"),
    "deep JSON": (b"[" * 400_000, "body"),
    "deep JSON in a field": (b'{"message": ' + b"[" * 400_000, "body"),
}


async def test_create_discussion_rejects_invalid_body_by_field_and_stores_nothing(
    api_client: ApiClient,
) -> None:
    before = (await api_client.server.get("/api/discussions")).text
    for what, (body, field) in INVALID_BODIES.items():
        reply = await api_client.server.post("/api/discussions", body)
        assert (reply.status, reply.headers["Content-Type"]) == (400, "application/problem+json"), what
        assert [error["field"] for error in reply.body["errors"]] == [field], what
        assert (reply.body["status"], reply.body["title"]) == (400, "Bad request")
        assert field in reply.body["detail"]
    assert (await api_client.server.get("/api/discussions")).text == before


async def test_invalid_http_requests_are_rejected(api_client: ApiClient) -> None:
    server = api_client.server
    large = await server.post("/api/discussions", b" " * 1_000_001)
    assert (large.status, large.body["title"]) == (413, "Request entity too large")
    form = await server.post("/api/discussions", b"message=x", {"Content-Type": "text/plain"})
    assert (form.status, "application/json" in form.body["detail"]) == (415, True)
    method = await server.call("PUT", "/api/discussions", VALID_BODY)
    assert (method.status, "POST" in method.headers["Allow"]) == (405, True)
    for query in ("limit=0", "limit=101", "limit=x", "status=gone", "cursor=xx", "q=%00", "project=%00"):
        reply = await server.get(f"/api/discussions?{query}")
        assert (reply.status, reply.headers["Content-Type"]) == (400, "application/problem+json"), query
    for cursor in ("xx", "a'b", "x" * 201):
        reply = await server.get(f"/api/discussions?cursor={cursor}")
        assert (reply.status, reply.body["errors"][0]["field"]) == (400, "cursor")
    opened = await api_client.create_finished_discussion("lab/quick")
    for query in ("before=0", f"before={2**63}", "limit=-1"):
        reply = await server.get(f"/api/discussions/{opened['discussion']['id']}?{query}")
        assert (reply.status, reply.body["errors"][0]["field"]) == (400, query.partition("=")[0])
    for query in ("after=-1", "after=x"):
        assert (await server.get(f"/api/runs/{opened['run']['id']}/events?{query}")).status == 400


async def test_endless_body_is_rejected_at_size_limit(api_client: ApiClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"message": "'
        while True:
            yield b"x" * 100_000
            await asyncio.sleep(0)

    sending = api_client.server.http.post(
        f"{api_client.server.url}/api/discussions",
        data=endless(),
        headers={"Content-Type": "application/json"},
    )
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS), sending as response:
        assert response.status == 413
