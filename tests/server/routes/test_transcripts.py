"""The routes of transcripts; journeys show what is in them."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from moot.store.database import Database
from moot.transcript.json_format import Transcript
from tests.server.talking import Talking, talking
from tests.transcript.reading import harmless

KINDS = {"md": "text/markdown", "json": "application/json", "html": "text/html"}


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


@pytest.mark.parametrize("form", KINDS)
async def test_a_transcript_is_something_to_save_that_can_do_no_harm(table: Talking, form: str) -> None:
    opened = await table.open(title="Tables, rund & <b>")
    await table.answer(opened["run"]["id"], "Round. <script>alert(1)</script>")
    reply = await table.call("GET", f"/api/discussions/{opened['discussion']['id']}/transcript.{form}")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith(KINDS[form])
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert reply.headers["Content-Disposition"].startswith(f'attachment; filename="Tables rund b.{form}"')
    assert "Round." in reply.text


async def test_html_and_json_can_be_read_back(table: Talking) -> None:
    opened = await table.open()
    await table.answer(opened["run"]["id"], "Round. <script>alert(1)</script>")
    path = f"/api/discussions/{opened['discussion']['id']}/transcript"
    page = harmless((await table.call("GET", f"{path}.html")).text)
    assert page.texts("div", "words") == ["What is a moot?", "Round. <script>alert(1)</script>"]
    told = msgspec.json.decode((await table.call("GET", f"{path}.json")).content, type=Transcript)
    assert [message.content for message in told.messages] == page.texts("div", "words")


@pytest.mark.parametrize("form", KINDS)
async def test_what_is_not_there_is_not_found(table: Talking, form: str) -> None:
    reply = await table.call("GET", f"/api/discussions/dis_none/transcript.{form}")
    assert (reply.status_code, reply.headers["Content-Type"]) == (404, "application/problem+json")
