"""Transcripts: all of a discussion, in its order, however many pages it has."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from moot.engine.whiteboards import Whiteboards
from moot.store.database import Database
from moot.store.runs.runs import RunLease
from moot.transcript import export
from moot.transcript.export import TranscriptExporter, TranscriptFormat, transcript_file_name
from moot.transcript.html_format import HtmlFormat
from moot.transcript.json_format import JsonFormat, Transcript
from moot.transcript.markdown_format import MarkdownFormat
from moot.types.discussions import Message
from moot.types.versions import VersionedTurn
from moot.whiteboard.state import EMPTY_BOARD, Board
from tests.databases import SLOW_ON_POSTGRES
from tests.server.talking import Talking, talking
from tests.store.debating import Pen, turn
from tests.store.people import settled
from tests.transcript.samples import DISCUSSION, FILES, MESSAGES, REPORT, said, turns

FORMS = [MarkdownFormat, JsonFormat, HtmlFormat]


def told(form: TranscriptFormat, *, at_once: int) -> str:
    """Tell the sample so many messages at once."""
    pages = [MESSAGES[start : start + at_once] for start in range(0, len(MESSAGES), at_once)]
    answers = "".join(form.render_turns(turns(page), FILES) for page in pages)
    return form.render_start(DISCUSSION) + answers + form.render_report(REPORT) + form.render_end(EMPTY_BOARD)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_same_however_it_is_cut_into_pages(form: type[TranscriptFormat]) -> None:
    assert told(form(), at_once=1) == told(form(), at_once=3) == told(form(), at_once=100)


@pytest.mark.parametrize("form", FORMS)
def test_everything_is_in_it(form: type[TranscriptFormat]) -> None:
    text = told(form(), at_once=100)
    for message in MESSAGES:
        assert message.content in text.replace("<strong>", "**").replace("</strong>", "**")
    for words in (
        "The teams wait.",
        "Key rejected for b (HTTP 401).",
        "Gamma was won over.",
        "notes.txt",
        "a/one",
    ):
        assert words in text
    for words in ("every", "single week", "we measured it twice", "I change my position."):
        assert words in text


@pytest.mark.parametrize("form", FORMS)
def test_a_discussion_in_which_nothing_was_said_is_told_too(form: type[TranscriptFormat]) -> None:
    empty = form()
    assert DISCUSSION.title in empty.render_start(DISCUSSION) + empty.render_end(EMPTY_BOARD)


REVISED = VersionedTurn(
    said(0, "Split it in May.", version=3, versions=3, version_id="msg_9"),
    (
        said(0, "Split it today.", version=1, versions=3),
        said(0, "Never split it.", version=2, versions=3, edited=True),
    ),
)


@pytest.mark.parametrize("form", FORMS)
def test_no_version_of_an_answer_is_left_out(form: type[TranscriptFormat]) -> None:
    text = told_of(form(), REVISED)
    for words in ("Split it in May.", "Split it today.", "Never split it."):
        assert text.count(words) == 1
    assert told_of(form(), VersionedTurn(REVISED.current)).count("Never") == 0


@pytest.mark.parametrize("form", [MarkdownFormat, HtmlFormat])
def test_whoever_reads_is_told_which_version_it_is(form: type[TranscriptFormat]) -> None:
    text = told_of(form(), REVISED)
    assert text.index("Split it in May.") < text.index("Version 1 of 3") < text.index("Version 2 of 3")
    assert "Version 2 of 3, edited by hand" in text


def told_of(form: TranscriptFormat, *some: VersionedTurn) -> str:
    return form.render_start(DISCUSSION) + form.render_turns(some, {}) + form.render_end(EMPTY_BOARD)


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with settled(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def table(database: Database) -> AsyncIterator[Talking]:
    async with talking(database) as table:
        yield table


async def document(table: Talking, id: str) -> Transcript:
    caller = await table.house.accounts.ensure_local_account()
    discussion = await table.house.discussions.get_discussion(caller.tenant, id)
    pieces = TranscriptExporter(table.house.database).export_chunks(caller.tenant, discussion, JsonFormat())
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
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", page)
    id = await long_discussion(table, 3)
    told = await document(table, id)
    assert words(told.messages) == ["What is a moot?", "So. 0", "And 1?", "So. 1", "And 2?", "So. 2"]
    assert [run.id for run in told.runs] == list(dict.fromkeys(message.run for message in told.messages))


async def test_what_a_run_came_to_follows_its_last_message(
    table: Talking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 3)
    seen: list[str] = []

    class Noting(JsonFormat):
        def render_turns(self, turns: Sequence[VersionedTurn], files: Any) -> str:
            seen.extend(words([turn.current for turn in turns]))
            return super().render_turns(turns, files)

        def render_report(self, report: Any) -> str:
            seen.append(report.status)
            return super().render_report(report)

    id = await long_discussion(table, 2)
    caller = await table.house.accounts.ensure_local_account()
    discussion = await table.house.discussions.get_discussion(caller.tenant, id)
    async for _ in TranscriptExporter(table.house.database).export_chunks(
        caller.tenant, discussion, Noting()
    ):
        pass
    assert seen == ["What is a moot?", "So. 0", "completed", "And 1?", "So. 1", "completed"]


class Revised:
    """A debate of more than a page in whose first run Beta failed; all that comes later has a higher number."""

    def __init__(self, table: Talking, id: str, run: str) -> None:
        self.table = table
        self.id = id
        self.run = run
        table.house.retrying._start = lambda run, revision: None

    async def read(self) -> list[Message]:
        """Return all that the discussion lists."""
        return list(await self.table.house.discussions.list_messages(self.id, include_hidden=False))

    async def edit(self, place: int, words: str) -> None:
        turn = (await self.read())[place].id
        await self.table.ok("PATCH", f"/api/discussions/{self.id}/turns/{turn}", {"content": words})

    async def retry(self, who: str) -> None:
        """Let somebody try again in the first run, and answer this time."""
        await self.table.ok("POST", f"/api/runs/{self.run}/lanes/{who}/retry")
        held = await self._claimed(self.run)
        pen = Pen(self.table.house.database, held)
        await pen.keep([turn(held, who)])
        await pen.end(revision=1)

    async def again(self, place: int) -> str:
        """Let an answer be given anew, and return the run in which it was."""
        answer = (await self.read())[place]
        path = f"/api/discussions/{self.id}/turns/{answer.id}/again"
        run: str = (await self.table.ok("POST", path))["run"]["id"]
        held = await self._claimed(run)
        pen = Pen(self.table.house.database, held)
        anew = turn(held, answer.participant or "", answer.stage or "", version_of=answer.id)
        await pen.keep([replace(anew, content="Given anew.")])
        await pen.end()
        return run

    async def _claimed(self, run: str) -> RunLease:
        held = await self.table.house.runs.acquire_lease(run, self.table.house.worker_id)
        assert held is not None
        return held


@pytest.fixture
async def revised(table: Talking, monkeypatch: pytest.MonkeyPatch) -> Revised:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 8)
    opened = await table.open(mode="debate")
    id, run = opened["discussion"]["id"], opened["run"]["id"]
    held = await table.house.runs.acquire_lease(run, table.house.worker_id)
    assert held is not None
    pen = Pen(table.house.database, held)
    alpha = turn(held, "alpha", view="blind", upto=opened["message"]["number"])
    await pen.keep([alpha, turn(held, "beta", status="failed")])
    await pen.end()
    for number in range(1, export.MESSAGES_PER_PAGE // 2 + 2):
        said = await table.ok("POST", f"/api/discussions/{id}/messages", {"message": f"And {number}?"})
        await table.answer(said["run"]["id"], "So. ", str(number))
    return Revised(table, id, run)


async def test_what_came_later_to_the_first_of_many_pages_is_told_in_its_place(revised: Revised) -> None:
    await revised.edit(0, "What was a moot?")
    await revised.retry("beta")
    await revised.again(1)
    told, read = await document(revised.table, revised.id), await revised.read()
    assert words(told.messages[:4]) == ["What was a moot?", "Given anew.", "beta in initial", "And 1?"]
    assert len(told.messages) == export.MESSAGES_PER_PAGE + 5
    assert list(told.messages) == read


async def test_a_run_that_gave_an_answer_anew_is_not_told_beside_it(revised: Revised) -> None:
    before = await document(revised.table, revised.id)
    anew = await revised.again(1)
    told = await document(revised.table, revised.id)
    assert told.messages[1].content == "Given anew."
    assert anew not in [run.id for run in told.runs]
    assert [run.id for run in told.runs] == [run.id for run in before.runs]


async def test_what_is_changed_while_it_is_told_is_told_once_and_as_it_was(
    revised: Revised, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 2)
    caller = await revised.table.house.accounts.ensure_local_account()
    discussion = await revised.table.house.discussions.get_discussion(caller.tenant, revised.id)
    before = await revised.read()
    seen: list[Message] = []

    class Noting(JsonFormat):
        def render_turns(self, turns: Sequence[VersionedTurn], files: Any) -> str:
            seen.extend(turn.current for turn in turns)
            return super().render_turns(turns, files)

    telling_it = TranscriptExporter(revised.table.house.database).export_chunks(
        caller.tenant, discussion, Noting()
    )
    while not seen:
        await anext(telling_it)
    await revised.edit(-1, "So be it.")
    await revised.retry("beta")
    async for _ in telling_it:
        pass
    assert seen == [*before[:2], *before[3:]], "Beta's failed turn is gone, and the other came later"


@pytest.mark.parametrize(("mode", "looks"), [("single", 0), ("debate", 0), ("directed", 1)])
async def test_only_a_lesson_has_a_board_to_be_read(table: Talking, mode: str, looks: int) -> None:
    caller = await table.house.accounts.ensure_local_account()
    opened = await table.open(mode=mode)
    discussion = await table.house.discussions.get_discussion(caller.tenant, opened["discussion"]["id"])
    transcripts = TranscriptExporter(table.house.database)
    looked: list[str] = []

    class Noting(Whiteboards):
        async def whiteboard_at(
            self, tenant: str, discussion: str, run: str | None = None, seq: int | None = None
        ) -> Board:
            looked.append(discussion)
            return await super().whiteboard_at(tenant, discussion, run, seq)

    transcripts._boards = Noting(table.house.database)
    told = [piece async for piece in transcripts.export_chunks(caller.tenant, discussion, JsonFormat())]
    assert looked == [discussion.id] * looks
    assert msgspec.json.decode(b"".join(told), type=Transcript).board == Board()


async def test_a_run_in_which_nobody_has_answered_yet_is_told_too(table: Talking) -> None:
    told = await document(table, (await table.open())["discussion"]["id"])
    assert (words(told.messages), [run.status for run in told.runs]) == (["What is a moot?"], ["waiting"])


async def test_whoever_leaves_early_leaves_nothing_behind(table: Talking) -> None:
    id = await long_discussion(table, 2)
    caller = await table.house.accounts.ensure_local_account()
    discussion = await table.house.discussions.get_discussion(caller.tenant, id)
    transcripts = TranscriptExporter(table.house.database)
    leaving = transcripts.export_chunks(caller.tenant, discussion, HtmlFormat())
    await anext(leaving)
    await leaving.aclose()
    again = [piece async for piece in transcripts.export_chunks(caller.tenant, discussion, HtmlFormat())]
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
    assert transcript_file_name(replace(DISCUSSION, title=title), MarkdownFormat()) == name
