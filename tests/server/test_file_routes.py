from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import unquote

import pytest
from httpx import Response
from sqlalchemy import func, select

from moot.server.file_routes import disposition
from moot.store.database import Database
from moot.store.schema import blob, discussion, file, message
from tests.server.house import House, built
from tests.server.talking import NEW, Talking, talking

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


async def upload(table: Talking, data: bytes = b"Round.", name: str = "notes.txt", kind: str = "") -> Any:
    reply = await send(table, data, name, kind)
    assert reply.status_code == 201, reply.text
    return reply.json()


async def send(table: Talking, data: bytes, name: str = "notes.txt", kind: str = "") -> Response:
    sent = (name, data, kind) if kind else (name, data)
    return await table.client.post("/api/files", files={"file": sent})


async def content(table: Talking, id: str) -> Response:
    return await table.call("GET", f"/api/files/{id}/content")


async def counted(table: Talking) -> tuple[int, ...]:
    async with table.house.database.read() as connection:
        tables = (file, blob, discussion, message)
        return tuple(
            [(await connection.execute(select(func.count()).select_from(t))).scalar_one() for t in tables]
        )


async def test_a_file_is_given_back_as_it_came(table: Talking) -> None:
    data = PNG + bytes(range(256)) * 4000
    made = await upload(table, data, "cat.png")
    assert (made["name"], made["media_type"], made["size"]) == ("cat.png", "image/png", len(data))
    assert await table.ok("GET", f"/api/files/{made['id']}") == made
    reply = await content(table, made["id"])
    assert (reply.status_code, reply.content) == (200, data)
    assert reply.headers["Content-Type"] == "image/png"
    assert reply.headers["Content-Length"] == str(len(data))


@pytest.mark.parametrize(
    ("data", "claim", "kind"),
    [
        (b"<html><script>alert(1)</script></html>", "text/html", "text/plain; charset=utf-8"),
        (
            b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
            "image/svg+xml",
            "text/plain; charset=utf-8",
        ),
        (b"alert(1)", "text/javascript", "text/plain; charset=utf-8"),
        (PNG + b"<script>alert(1)</script>", "text/html", "image/png"),
        (b"%PDF-1.7 <html>", "text/html", "application/pdf"),
    ],
)
async def test_whatever_is_in_a_file_no_browser_runs_it(
    table: Talking, data: bytes, claim: str, kind: str
) -> None:
    made = await upload(table, data, "page.html", claim)
    reply = await content(table, made["id"])
    assert reply.content == data
    assert reply.headers["Content-Type"] == kind
    assert reply.headers["Content-Disposition"].startswith("attachment;")
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert reply.headers["Cache-Control"] == "private"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("../../x", "x"),
        ("/etc/passwd", "passwd"),
        ("..\\..\\x.txt", "x.txt"),
        ("a\0b", "a%00b"),  # as this client writes it; in tests/server/test_uploads.py it comes bare
        ("a\nb", "a b"),
        ('a"; filename=x', 'a"; filename=x'),
        ("Grüße 🙂.txt", "Grüße 🙂.txt"),
        ("..", "file"),
    ],
)
async def test_a_name_is_only_a_label(table: Talking, name: str, label: str) -> None:
    made = await upload(table, name=name)
    assert made["name"] == label
    told = (await content(table, made["id"])).headers["Content-Disposition"]
    plain, _, encoded = told.removeprefix("attachment; filename=").partition("; filename*=UTF-8''")
    assert unquote(encoded) == label
    assert not set('"\\;\r\n') & set(plain[1:-1])


def test_a_disposition_says_the_name_twice() -> None:
    assert disposition('ä "b".txt') == (
        "attachment; filename=\"_ _b_.txt\"; filename*=UTF-8''%C3%A4%20%22b%22.txt"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "it is empty"), (b"\x7fELF\0", "no text in UTF-8, image or PDF"), (b"PK\x03\x04\0", "no text")],
)
async def test_what_no_model_reads_is_refused(table: Talking, data: bytes, words: str) -> None:
    reply = await send(table, data)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "file")
    assert words in reply.json()["detail"]
    assert (await counted(table))[:2] == (0, 0)


async def test_the_same_content_is_stored_once_and_goes_with_its_last_file(table: Talking) -> None:
    one, two = await upload(table, name="a.txt"), await upload(table, name="b.txt")
    assert (await counted(table))[:2] == (2, 1)
    for made, left in ((one, (1, 1)), (two, (0, 0))):
        assert (await table.call("DELETE", f"/api/files/{made['id']}")).status_code == 204
        assert (await counted(table))[:2] == left
    assert (await content(table, two["id"])).status_code == 404


async def test_a_file_is_attached_by_its_id_and_stays_then(table: Talking) -> None:
    made = await upload(table)
    opened = await table.open(files=[made["id"]])
    assert opened["message"]["files"] == [made["id"]]
    refused = await table.call("DELETE", f"/api/files/{made['id']}")
    assert (refused.status_code, opened["discussion"]["id"] in refused.json()["detail"]) == (409, True)
    path = f"/api/discussions/{opened['discussion']['id']}/messages"
    said = await table.ok("POST", path, {"message": "And this?", "files": [made["id"]]})
    assert said["message"]["files"] == [made["id"]]


async def test_a_file_that_is_not_there_is_named(table: Talking) -> None:
    made = await upload(table)
    refused = await table.call("POST", "/api/discussions", NEW | {"files": [made["id"], "file_none"]})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "files[1]")
    assert (await counted(table))[2:] == (0, 0)


@pytest.fixture
async def rooms(database: Database) -> AsyncIterator[House]:
    async with built(database, environment={"LAB_KEY": "sk-lab"}) as house:
        yield house


async def test_who_cannot_read_a_file_is_named_and_nothing_is_stored(rooms: House) -> None:
    ada = await rooms.bearer("ada")
    made = (await rooms.client.post("/api/files", files={"file": ("cat.png", PNG)}, headers=ada)).json()
    body = {
        "message": "What is it?",
        "participants": ["lab/gpt-5", {"model": "lab/deepseek-chat", "name": "Blind"}],
        "files": [made["id"]],
    }
    refused = await rooms.client.post("/api/discussions", json=body, headers=ada)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "files[0]")
    assert "Blind (lab/deepseek-chat) takes no image files such as cat.png" in refused.json()["detail"]
    assert (await rooms.client.get("/api/discussions", headers=ada)).json()["discussions"] == []


async def test_another_s_file_is_not_there(rooms: House) -> None:
    ada, bob = await rooms.bearer("ada"), await rooms.bearer("bob")
    made = (await rooms.client.post("/api/files", files={"file": ("a.txt", b"Mine.")}, headers=ada)).json()
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        reply = await rooms.client.request(method, f"/api/files/{made['id']}{path}", headers=bob)
        assert reply.status_code == 404
    body = {"message": "Whose?", "participants": ["scripted/echo"], "files": [made["id"]]}
    refused = await rooms.client.post("/api/discussions", json=body, headers=bob)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "files[0]")
    assert (await rooms.client.get(f"/api/files/{made['id']}/content", headers=ada)).content == b"Mine."


async def test_nobody_uploads_without_credentials(rooms: House) -> None:
    reply = await rooms.client.post("/api/files", files={"file": ("a.txt", b"Mine.")})
    assert reply.status_code == 401
