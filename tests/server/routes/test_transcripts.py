"""The routes of transcripts. Other tests check the content."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from moot.store.database import Database
from moot.transcript.json_format import TranscriptDocument
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.safe_html import parse_safe_html

MEDIA_TYPES = {"md": "text/markdown", "json": "application/json", "html": "text/html"}


@pytest.fixture
async def local_app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


@pytest.mark.parametrize("form", MEDIA_TYPES)
async def test_transcript_is_served_as_safe_attachment(local_app: LocalApp, form: str) -> None:
    opened = await local_app.create_discussion(title="Tables, rund & <b>")
    await local_app.record_answer(opened["run"]["id"], "Round. <script>alert(1)</script>")
    reply = await local_app.call("GET", f"/api/discussions/{opened['discussion']['id']}/transcript.{form}")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith(MEDIA_TYPES[form])
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert reply.headers["Content-Disposition"].startswith(f'attachment; filename="Tables rund b.{form}"')
    assert "Round." in reply.text


async def test_html_and_json_transcripts_can_be_parsed(local_app: LocalApp) -> None:
    opened = await local_app.create_discussion()
    await local_app.record_answer(opened["run"]["id"], "Round. <script>alert(1)</script>")
    path = f"/api/discussions/{opened['discussion']['id']}/transcript"
    page = parse_safe_html((await local_app.call("GET", f"{path}.html")).text)
    assert page.texts("div", "words") == ["What is a moot?", "Round. <script>alert(1)</script>"]
    transcript = msgspec.json.decode((await local_app.call("GET", f"{path}.json")).content, type=TranscriptDocument)
    assert [message.content for message in transcript.messages] == page.texts("div", "words")


@pytest.mark.parametrize("form", MEDIA_TYPES)
async def test_transcript_of_unknown_discussion_returns_404(local_app: LocalApp, form: str) -> None:
    reply = await local_app.call("GET", f"/api/discussions/dis_none/transcript.{form}")
    assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")
