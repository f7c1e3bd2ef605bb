"""Transcripts on both databases: all of a discussion, in its order, however many pages it has."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from moot.model.discussions import Message
from moot.store.database import Database
from moot.transcript import telling
from moot.transcript.document import Document, Transcript
from moot.transcript.markdown import Markdown
from moot.transcript.page import Page
from moot.transcript.telling import Transcripts, file_name
from tests.databases import KINDS
from tests.server.talking import Talking, talking
from tests.store.people import settled
from tests.transcript.samples import DISCUSSION


@pytest.fixture(params=KINDS)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with settled(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


async def document(table: Talking, id: str) -> Transcript:
    caller = await table.house.accounts.ensure_local()
    discussion = await table.house.discussions.get(caller.tenant, id)
    pieces = Transcripts(table.house.database).pieces(caller.tenant, discussion, Document())
    return msgspec.json.decode(b"".join([piece async for piece in pieces]), type=Transcript)


async def long_discussion(table: Talking, questions: int) -> str:
    opened = await table.open()
    id, run = opened["discussion"]["id"], opened["run"]["id"]
    await table.answer(run, "So. ", "0")
    for number in range(1, questions):
        said = await table.ok("POST", f"/api/discussions/{id}/messages", {"message": f"And {number}?"})
        await table.answer(said["run"]["id"], "So. ", str(number))
    return str(id)


def words(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages]


@pytest.mark.parametrize("page", [1, 2, 3, 6, 7, 50])
async def test_every_message_is_told_once_whatever_the_pages(
    table: Talking, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "PAGE", page)
    id = await long_discussion(table, 3)
    told = await document(table, id)
    assert words(told.messages) == ["What is a moot?", "So. 0", "And 1?", "So. 1", "And 2?", "So. 2"]
    assert [run.id for run in told.runs] == list(dict.fromkeys(message.run for message in told.messages))


async def test_what_a_run_came_to_follows_its_last_message(
    table: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "PAGE", 3)
    seen: list[str] = []

    class Noting(Document):
        def said(self, messages: Sequence[Message], files: Any) -> str:
            seen.extend(words(messages))
            return super().said(messages, files)

        def found(self, report: Any) -> str:
            seen.append(report.status)
            return super().found(report)

    id = await long_discussion(table, 2)
    caller = await table.house.accounts.ensure_local()
    discussion = await table.house.discussions.get(caller.tenant, id)
    async for _ in Transcripts(table.house.database).pieces(caller.tenant, discussion, Noting()):
        pass
    assert seen == ["What is a moot?", "So. 0", "completed", "And 1?", "So. 1", "completed"]


async def test_a_run_in_which_nobody_has_answered_yet_is_told_too(table: Talking) -> None:
    told = await document(table, (await table.open())["discussion"]["id"])
    assert (words(told.messages), [run.status for run in told.runs]) == (["What is a moot?"], ["waiting"])


async def test_whoever_leaves_early_leaves_nothing_behind(table: Talking) -> None:
    id = await long_discussion(table, 2)
    caller = await table.house.accounts.ensure_local()
    discussion = await table.house.discussions.get(caller.tenant, id)
    transcripts = Transcripts(table.house.database)
    leaving = transcripts.pieces(caller.tenant, discussion, Page())
    await anext(leaving)
    await leaving.aclose()
    again = [piece async for piece in transcripts.pieces(caller.tenant, discussion, Page())]
    assert again[-1].endswith(b"</html>\n")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Shall we split it?", "Shall we split it.md"),
        ("../../etc/passwd", "etc passwd.md"),
        ('a "b" <c> | d:e*\n\x00', "a b c d e.md"),
        ("Über Tische, rund", "Über Tische rund.md"),
        ("???", "discussion.md"),
        ("x" * 200, "x" * 80 + ".md"),
    ],
)
def test_a_file_is_called_as_its_discussion_is(title: str, name: str) -> None:
    assert file_name(replace(DISCUSSION, title=title), Markdown()) == name
