"""Uploaded forms: whole, in pieces, and malformed."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import pytest
from httpx import Response
from hypothesis import given
from hypothesis import strategies as st
from litestar import Litestar, Request, post
from msgspec import Struct
from sqlalchemy import func, select

from moot.prompts.attachments import MAX_FILE_BYTES
from moot.server.errors import EXCEPTION_HANDLERS
from moot.server.requests import JsonRequest
from moot.server.routes import files as module
from moot.server.routes.files import MAX_BODY, MAX_CONCURRENT_STORES, Uploads, content_disposition
from moot.store.database import Database
from moot.store.schema.discussions import blob, discussion, file, message
from moot.types.accounts import LOCAL_ACCOUNT, Caller
from moot.types.files import StoredFile
from tests.server.account_app import AccountApp, create_account_app
from tests.server.asgi_client import AsgiClient, http_scope
from tests.support.app_fixture import NEW_DISCUSSION_BODY, LocalApp, create_local_app

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def upload_file(
    local_app: LocalApp, data: bytes = b"Round.", name: str = "notes.txt", content_type: str = ""
) -> Any:
    reply = await post_file(local_app, data, name, content_type)
    assert reply.status_code == 201, reply.text
    return reply.json()


async def post_file(local_app: LocalApp, data: bytes, name: str = "notes.txt", content_type: str = "") -> Response:
    sent = (name, data, content_type) if content_type else (name, data)
    return await local_app.client.post("/api/files", files={"file": sent})


async def download_file(local_app: LocalApp, id: str) -> Response:
    return await local_app.call("GET", f"/api/files/{id}/content")


async def count_rows(local_app: LocalApp) -> tuple[int, ...]:
    async with local_app.services.database.read() as connection:
        tables = (file, blob, discussion, message)
        return tuple([(await connection.execute(select(func.count()).select_from(t))).scalar_one() for t in tables])


async def test_uploaded_file_downloads_unchanged(local_app: LocalApp) -> None:
    data = PNG + bytes(range(256)) * 4000
    uploaded = await upload_file(local_app, data, "cat.png")
    assert (uploaded["name"], uploaded["media_type"], uploaded["size"]) == ("cat.png", "image/png", len(data))
    assert await local_app.call_ok("GET", f"/api/files/{uploaded['id']}") == uploaded
    reply = await download_file(local_app, uploaded["id"])
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
async def test_file_content_is_served_as_safe_attachment(
    local_app: LocalApp, data: bytes, claim: str, kind: str
) -> None:
    uploaded = await upload_file(local_app, data, "page.html", claim)
    reply = await download_file(local_app, uploaded["id"])
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
        ("a\0b", "a%00b"),  # this client escapes it
        ("a\nb", "a b"),
        ('a"; filename=x', 'a"; filename=x'),
        ("Grüße 🙂.txt", "Grüße 🙂.txt"),
        ("..", "file"),
    ],
)
async def test_file_name_is_sanitised(local_app: LocalApp, name: str, label: str) -> None:
    uploaded = await upload_file(local_app, name=name)
    assert uploaded["name"] == label
    disposition = (await download_file(local_app, uploaded["id"])).headers["Content-Disposition"]
    plain, _, encoded = disposition.removeprefix("attachment; filename=").partition("; filename*=UTF-8''")
    assert unquote(encoded) == label
    assert not set('"\\;\r\n') & set(plain[1:-1])


def test_content_disposition_contains_ascii_and_utf8_names() -> None:
    assert content_disposition('ä "b".txt') == (
        "attachment; filename=\"_ _b_.txt\"; filename*=UTF-8''%C3%A4%20%22b%22.txt"
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"", "it is empty"), (b"\x7fELF\0", "no text in UTF-8, image or PDF"), (b"PK\x03\x04\0", "no text")],
)
async def test_upload_rejects_empty_and_binary_files(local_app: LocalApp, data: bytes, words: str) -> None:
    reply = await post_file(local_app, data)
    assert (reply.status_code, reply.json()["errors"][0]["field"]) == (400, "file")
    assert words in reply.json()["detail"]
    assert (await count_rows(local_app))[:2] == (0, 0)


async def test_same_content_is_stored_once_and_deleted_with_last_file(local_app: LocalApp) -> None:
    one, two = await upload_file(local_app, name="a.txt"), await upload_file(local_app, name="b.txt")
    assert (await count_rows(local_app))[:2] == (2, 1)
    for uploaded, left in ((one, (1, 1)), (two, (0, 0))):
        assert (await local_app.call("DELETE", f"/api/files/{uploaded['id']}")).status_code == 204
        assert (await count_rows(local_app))[:2] == left
    assert (await download_file(local_app, two["id"])).status_code == 404


async def test_attached_file_cannot_be_deleted(local_app: LocalApp) -> None:
    uploaded = await upload_file(local_app)
    opened = await local_app.create_discussion(files=[uploaded["id"]])
    assert opened["message"]["files"] == [uploaded["id"]]
    refused = await local_app.call("DELETE", f"/api/files/{uploaded['id']}")
    assert (refused.status_code, opened["discussion"]["id"] in refused.json()["detail"]) == (409, True)
    path = f"/api/discussions/{opened['discussion']['id']}/messages"
    reply = await local_app.call_ok("POST", path, {"message": "And this?", "files": [uploaded["id"]]})
    assert reply["message"]["files"] == [uploaded["id"]]


async def test_create_discussion_names_unknown_file(local_app: LocalApp) -> None:
    uploaded = await upload_file(local_app)
    refused = await local_app.call(
        "POST", "/api/discussions", NEW_DISCUSSION_BODY | {"files": [uploaded["id"], "file_none"]}
    )
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "files[1]")
    assert (await count_rows(local_app))[2:] == (0, 0)


@pytest.fixture
async def keyed_account_app(database: Database) -> AsyncIterator[AccountApp]:
    async with create_account_app(database, environment={"LAB_KEY": "sk-lab"}) as app:
        yield app


async def test_create_discussion_rejects_file_unreadable_by_participant_and_stores_nothing(
    keyed_account_app: AccountApp,
) -> None:
    ada = await keyed_account_app.create_token_headers("ada")
    uploaded = (await keyed_account_app.client.post("/api/files", files={"file": ("cat.png", PNG)}, headers=ada)).json()
    body = {
        "message": "What is it?",
        "participants": ["lab/gpt-5", {"model": "lab/deepseek-chat", "name": "Blind"}],
        "files": [uploaded["id"]],
    }
    refused = await keyed_account_app.client.post("/api/discussions", json=body, headers=ada)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (400, "files[0]")
    assert "Blind (lab/deepseek-chat) takes no image files such as cat.png" in refused.json()["detail"]
    assert (await keyed_account_app.client.get("/api/discussions", headers=ada)).json()["discussions"] == []


async def test_file_of_other_tenant_is_not_found(keyed_account_app: AccountApp) -> None:
    ada, bob = (
        await keyed_account_app.create_token_headers("ada"),
        await keyed_account_app.create_token_headers("bob"),
    )
    uploaded = (
        await keyed_account_app.client.post("/api/files", files={"file": ("a.txt", b"Mine.")}, headers=ada)
    ).json()
    for method, path in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        reply = await keyed_account_app.client.request(method, f"/api/files/{uploaded['id']}{path}", headers=bob)
        assert reply.status_code == 404
    body = {"message": "Whose?", "participants": ["scripted/echo"], "files": [uploaded["id"]]}
    refused = await keyed_account_app.client.post("/api/discussions", json=body, headers=bob)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (404, "files[0]")
    assert (await keyed_account_app.client.get(f"/api/files/{uploaded['id']}/content", headers=ada)).content == b"Mine."


async def test_upload_requires_credentials(keyed_account_app: AccountApp) -> None:
    reply = await keyed_account_app.client.post("/api/files", files={"file": ("a.txt", b"Mine.")})
    assert reply.status_code == 401


CALLER = Caller(account=LOCAL_ACCOUNT, tenant=LOCAL_ACCOUNT, name=LOCAL_ACCOUNT, kind="local")
BOUNDARY = b"edge"
FORM_CONTENT_TYPE = b"multipart/form-data; boundary=edge"


class MemoryFileStore:
    """A file store that appends to a list."""

    def __init__(self) -> None:
        self.expected_concurrency = 1  # each call waits until so many are active
        self.stored_files: list[tuple[str, str, bytes]] = []
        self.concurrency: list[int] = []
        self._active = 0
        self._all_arrived = asyncio.Event()

    async def store_file(
        self, tenant: str, account: str, name: str, media_type: str, sha256: str, data: bytes
    ) -> StoredFile:
        self._active += 1
        self.concurrency.append(self._active)
        if self._active >= self.expected_concurrency:
            self._all_arrived.set()
        await self._all_arrived.wait()
        await asyncio.sleep(0.01)  # time for one call too many
        self._active -= 1
        self.stored_files.append((name, media_type, data))
        return StoredFile(id="file_1", name=name, media_type=media_type, size=len(data), created_at=0.0)


class UploadReply(Struct, frozen=True):
    status: int | None
    body: Any


class UploadApp:
    """An app with an upload route only, and the files it stored."""

    def __init__(self) -> None:
        self.file_store = MemoryFileStore()
        uploads = Uploads(self.file_store)  # type: ignore[arg-type]

        @post("/files", request_max_body_size=MAX_BODY)
        async def upload(request: Request[Any, Any, Any]) -> StoredFile:
            return await uploads.store_upload(request, CALLER)

        self.app = Litestar(
            [upload],
            request_class=JsonRequest,
            exception_handlers=EXCEPTION_HANDLERS,
            logging_config=None,
            openapi_config=None,
        )

    async def send(
        self,
        pieces: Sequence[bytes],
        content_type: bytes = FORM_CONTENT_TYPE,
        *,
        complete: bool = True,
        **headers: bytes,
    ) -> UploadReply:
        """Send a body in pieces. Without `complete`, the last message is missing."""
        messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        messages += [{"type": "http.request", "body": b"", "more_body": False}] if complete else []
        return await self.send_messages(messages, content_type, **headers)

    async def send_messages(
        self, messages: list[dict[str, Any]], content_type: bytes = FORM_CONTENT_TYPE, **headers: bytes
    ) -> UploadReply:
        client = AsgiClient()
        left = iter(messages)

        async def receive() -> Any:
            return next(left, None) or await asyncio.Event().wait()

        sent = [(name.replace("_", "-").encode(), value) for name, value in headers.items()]
        scope = http_scope("/files") | {"method": "POST", "headers": [(b"content-type", content_type), *sent]}
        async with asyncio.timeout(60):
            await self.app(scope, receive, client.send)
        return UploadReply(client.status, msgspec.json.decode(b"".join(client.received_bodies)))


@pytest.fixture
def upload_app() -> UploadApp:
    return UploadApp()


def form_part(data: bytes, name: str = "a.txt", field: str = "file", more: bytes = b"") -> bytes:
    disposition = f'Content-Disposition: form-data; name="{field}"; filename="{name}"\r\n'.encode()
    return b"--edge\r\n" + disposition + more + b"\r\n" + data + b"\r\n"


def form_body(data: bytes, name: str = "a.txt", **more: Any) -> bytes:
    return form_part(data, name, **more) + b"--edge--\r\n"


async def test_form_file_is_stored_unchanged(upload_app: UploadApp) -> None:
    reply = await upload_app.send([form_body(b"words \r\n--edg\r\n words")])
    assert reply.status == 201, reply
    assert upload_app.file_store.stored_files == [("a.txt", "text/plain", b"words \r\n--edg\r\n words")]


async def test_media_type_is_detected_from_content(upload_app: UploadApp) -> None:
    claim = b"Content-Type: text/html\r\n"
    await upload_app.send([form_body(b"%PDF-1.7", "a.exe", more=claim)])
    assert upload_app.file_store.stored_files == [("a.exe", "application/pdf", b"%PDF-1.7")]


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("a\0b", "a b"),
        ("a\x07\x1bb", "a b"),
        ("../../x", "x"),
        ("a%22; filename=%22b", 'a"; filename="b'),
        ("", "file"),
    ],
)
async def test_raw_form_file_name_is_sanitised(upload_app: UploadApp, name: str, label: str) -> None:
    assert (await upload_app.send([form_body(b"words", name)])).status == 201
    assert upload_app.file_store.stored_files[0][0] == label


async def test_form_file_without_filename_gets_default_name(upload_app: UploadApp) -> None:
    bare = form_body(b"words").replace(b'; filename="a.txt"', b"")
    assert (await upload_app.send([bare])).status == 201
    assert upload_app.file_store.stored_files == [("file", "text/plain", b"words")]


@given(st.data())
def test_form_is_parsed_for_any_chunk_boundaries(data: st.DataObject) -> None:
    content = data.draw(st.binary(min_size=1, max_size=200).map(lambda more: b"%PDF-" + more))
    whole = form_body(content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    upload_app = UploadApp()
    reply = asyncio.run(upload_app.send(pieces))
    if b"\r\n--edge" not in content:
        assert (reply.status, upload_app.file_store.stored_files) == (201, [("a.txt", "application/pdf", content)])


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b"", "body"),
        (b"nonsense", "body"),
        (b"--edge--\r\n", "file"),
        (form_body(b""), "file"),
        (form_body(b"words \0"), "file"),
        (form_body(b"words")[:-8], "body"),
        (form_body(b"words", field="other"), "body"),
        (form_body(b"words", field=""), "body"),
        (form_part(b"one") + form_body(b"two"), "body"),
        (form_body(b"words", "x" * 5000), "body"),
        (form_body(b"words", more=b"no header\r\n"), "body"),
        (form_body(b"words", more=b"Content-Length: 3\r\n"), "body"),
        (form_body(b"words", more=b"\xff: x\r\n"), "body"),
        (form_body(b"words", more=b"X-Many: x\r\n" * 20), "body"),
        (form_body(b"words").replace(b"form-data", b"attachment"), "body"),
    ],
    ids=range(15),
)
async def test_upload_rejects_malformed_form(upload_app: UploadApp, body: bytes, field: str) -> None:
    reply = await upload_app.send([body])
    assert (reply.status, [error["field"] for error in reply.body["errors"]]) == (400, [field])
    assert upload_app.file_store.stored_files == []


async def test_upload_ignores_unknown_charset(upload_app: UploadApp) -> None:
    reply = await upload_app.send([form_body(b"words", more=b"Content-Type: text/plain; charset=klingon\r\n")])
    assert (reply.status, upload_app.file_store.stored_files) == (201, [("a.txt", "text/plain", b"words")])


@pytest.mark.parametrize(
    "kind", [b"application/json", b"multipart/form-data", b"multipart/mixed; boundary=edge", b"x", b""]
)
async def test_upload_rejects_other_content_type(upload_app: UploadApp, kind: bytes) -> None:
    reply = await upload_app.send([form_body(b"words")], kind)
    assert reply.status == 415
    assert "multipart/form-data" in reply.body["detail"]


async def test_upload_accepts_largest_file_and_rejects_larger(upload_app: UploadApp) -> None:
    largest = b"a" * MAX_FILE_BYTES
    assert (await upload_app.send([form_body(largest)])).status == 201
    assert len(upload_app.file_store.stored_files[0][2]) == MAX_FILE_BYTES
    larger = await upload_app.send([form_body(largest + b"a")])
    assert (larger.status, larger.body["errors"][0]["field"]) == (400, "file")
    assert "20 MB" in larger.body["detail"]


async def test_upload_rejects_large_content_length_without_reading_body(upload_app: UploadApp) -> None:
    reply = await upload_app.send([], complete=False, content_length=b"25000000")
    assert (reply.status, reply.body["detail"]) == (
        413,
        f"The body is too large: {MAX_BODY:,} bytes are the most.",
    )


async def test_upload_of_endless_body_is_rejected_at_size_limit(upload_app: UploadApp) -> None:
    reply = await upload_app.send([form_part(b"x"), *([b"x" * 1_000_000] * 25)], complete=False)
    assert reply.status == 413
    assert upload_app.file_store.stored_files == []


async def test_upload_disconnect_returns_400_without_log(
    upload_app: UploadApp, caplog: pytest.LogCaptureFixture
) -> None:
    begun = {"type": "http.request", "body": form_part(b"words"), "more_body": True}
    assert (await upload_app.send_messages([begun, {"type": "http.disconnect"}])).status == 400
    assert caplog.records == []


async def test_upload_times_out_when_body_is_missing(upload_app: UploadApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "UPLOAD_SECONDS", 0.01)
    reply = await upload_app.send([form_part(b"words")], complete=False)
    assert reply.status == 408


async def test_concurrent_uploads_in_memory_are_limited(upload_app: UploadApp) -> None:
    upload_app.file_store.expected_concurrency = MAX_CONCURRENT_STORES
    replies = await asyncio.gather(*(upload_app.send([form_body(b"words")]) for _ in range(8)))
    assert {reply.status for reply in replies} == {201}
    assert max(upload_app.file_store.concurrency) == MAX_CONCURRENT_STORES


async def test_upload_spool_file_has_no_name(
    upload_app: UploadApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Path] = []
    checked = module._check_content

    def check_spool(spool: module.Spool) -> tuple[bytes, str, str]:
        seen.extend(tmp_path.rglob("*"))
        return checked(spool)

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "_check_content", check_spool)
    assert (await upload_app.send([form_body(b"a" * 2_000_000, "../../../x")])).status == 201
    assert (seen, upload_app.file_store.stored_files[0][0]) == ([], "x")
