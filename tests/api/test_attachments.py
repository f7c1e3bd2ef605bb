"""Files over the API, from an upload to the request that a provider gets; and titles by the task model."""

import asyncio
from base64 import b64encode
from contextlib import aclosing
from hashlib import sha256
from io import BytesIO

import aiohttp
import msgspec
import pytest

from tests.api.api_client import ApiClient
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PDF = b"%PDF-1.7\n\xe2\xe3\xcf\xd3"


async def test_every_provider_format_carries_text_image_and_pdf_files(api_client: ApiClient) -> None:
    files = [
        await api_client.upload_file(name, data)
        for name, data in (("notes.txt", b"Tables have no head."), ("cat.png", PNG), ("paper.pdf", PDF))
    ]
    sent = len(api_client.provider_server.request_bodies)
    opened = await api_client.create_finished_discussion("lab/gpt-x", "claude/claude-x", "gemini/gemini-x", files=files)
    assert [m["content"] for m in await api_client.list_answers(opened["discussion"]["id"])] == ["I see."] * 3
    bodies = [msgspec.json.encode(body).decode() for body in api_client.provider_server.request_bodies[sent:]]
    assert len(bodies) == 3
    for body in bodies:
        assert "Tables have no head." in body
        assert b64encode(PNG).decode() in body
        assert b64encode(PDF).decode() in body


async def test_text_file_content_reaches_participant_and_turn_prompt(
    api_client: ApiClient,
) -> None:
    files = [await api_client.upload_file("notes.txt", b"Tables have no head.")]
    opened = await api_client.create_finished_discussion("scripted/echo", files=files)
    discussion = opened["discussion"]["id"]
    (answer,) = await api_client.list_answers(discussion)
    assert answer["content"] == "notes.txt:\n```\nTables have no head.\n```\n\nWhat is a moot?"
    shown = await api_client.server.get(f"/api/discussions/{discussion}/turns/{answer['id']}/prompt")
    assert "Tables have no head." in shown.text


async def test_model_without_image_support_gets_placeholder_for_earlier_image(api_client: ApiClient) -> None:
    picture = await api_client.upload_file("cat.png", PNG)
    opened = await api_client.create_finished_discussion("lab/gpt-x", files=[picture])
    discussion = opened["discussion"]["id"]
    await api_client.update_discussion(discussion, participants=["lab/deepseek-x"])
    reply = await api_client.server.post(
        f"/api/discussions/{discussion}/messages", {"message": "And this?", "files": [picture]}
    )
    assert (reply.status, reply.body["errors"][0]["field"]) == (400, "files[0]")
    assert "Alpha (lab/deepseek-x) takes no image files such as cat.png" in reply.body["detail"]
    await api_client.server.run_events((await api_client.send_message(discussion, "What was it?"))["run"]["id"])
    assert "(cat.png, an image, came with this message" in str(
        api_client.provider_server.request_bodies[-1]["messages"]
    )
    assert b64encode(PNG).decode() not in str(api_client.provider_server.request_bodies[-1])


async def test_upload_rejects_too_large_body(api_client: ApiClient) -> None:
    form = aiohttp.FormData()
    form.add_field("file", BytesIO(b"a" * 25_000_000), filename="large.txt")
    sending = api_client.server.http.post(f"{api_client.server.url}/api/files", data=form)
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS), sending as response:
        assert response.status == 413
        assert "20,987,904 bytes are the most" in (await response.json())["detail"]


async def test_large_file_downloads_unchanged(api_client: ApiClient) -> None:
    data = b"%PDF-" + bytes(range(256)) * 70_000
    id = await api_client.upload_file("large.pdf", data)
    async with api_client.server.http.get(f"{api_client.server.url}/api/files/{id}/content") as response:
        assert sha256(await response.read()).digest() == sha256(data).digest()
        assert response.headers["Content-Disposition"].startswith("attachment")


async def test_aborted_downloads_do_not_affect_later_downloads(api_client: ApiClient) -> None:
    """The fixture checks at the end that the log contains no error."""
    url = f"{api_client.server.url}/api/files/{await api_client.upload_file('large.pdf', b'%PDF-' + bytes(15_000_000))}/content"

    async def abort_download() -> None:
        response = await api_client.server.http.get(url)
        assert response.status == 200
        response.close()

    await asyncio.gather(*(abort_download() for _ in range(20)))
    async with api_client.server.http.get(url) as response:
        assert len(await response.read()) == 15_000_005


async def test_task_model_title_is_published_to_event_stream(api_client: ApiClient) -> None:
    async with (
        asyncio.timeout(SERVER_TIMEOUT_SECONDS),
        aclosing(api_client.server.events("/api/events")) as changes,
    ):
        await anext(changes)
        opened = await api_client.create_discussion("lab/quick", task_model="lab/titler")
        assert opened["discussion"]["title"] == "What is a moot?"
        async for change in changes:
            if change.data.get("discussion", {}).get("title") == "Tables, round and square":
                break
        assert change.data["discussion"]["id"] == opened["discussion"]["id"]
