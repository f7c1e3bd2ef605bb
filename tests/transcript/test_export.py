"""Transcripts contain a whole discussion in order, for any number of pages."""

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
from moot.transcript.json_format import JsonFormat, TranscriptDocument
from moot.transcript.markdown_format import MarkdownFormat
from moot.types.discussions import Message
from moot.types.versions import VersionedTurn
from moot.whiteboard.state import EMPTY_BOARD, Board
from tests.support.accounts import database_with_accounts
from tests.support.app_fixture import LocalApp, create_local_app
from tests.support.databases import SLOW_ON_POSTGRES
from tests.support.debates import RunWriter, make_turn
from tests.support.transcript_samples import (
    DISCUSSION,
    FILES,
    MESSAGES,
    REPORT,
    participant_message,
    single_version_turns,
)

FORMATS = [MarkdownFormat, JsonFormat, HtmlFormat]


def render_sample(transcript_format: TranscriptFormat, *, page_size: int) -> str:
    """Render the sample with this many messages in each page."""
    pages = [MESSAGES[start : start + page_size] for start in range(0, len(MESSAGES), page_size)]
    answers = "".join(transcript_format.render_turns(single_version_turns(page), FILES) for page in pages)
    return (
        transcript_format.render_start(DISCUSSION)
        + answers
        + transcript_format.render_report(REPORT)
        + transcript_format.render_end(EMPTY_BOARD)
    )


@pytest.mark.parametrize("form", FORMATS)
def test_transcript_does_not_depend_on_page_size(form: type[TranscriptFormat]) -> None:
    assert (
        render_sample(form(), page_size=1) == render_sample(form(), page_size=3) == render_sample(form(), page_size=100)
    )


@pytest.mark.parametrize("form", FORMATS)
def test_transcript_contains_all_messages_and_results(form: type[TranscriptFormat]) -> None:
    text = render_sample(form(), page_size=100)
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


@pytest.mark.parametrize("form", FORMATS)
def test_empty_discussion_is_exported(form: type[TranscriptFormat]) -> None:
    empty = form()
    assert DISCUSSION.title in empty.render_start(DISCUSSION) + empty.render_end(EMPTY_BOARD)


REVISED_TURN = VersionedTurn(
    participant_message(0, "Split it in May.", version=3, versions=3, version_id="msg_9"),
    (
        participant_message(0, "Split it today.", version=1, versions=3),
        participant_message(0, "Never split it.", version=2, versions=3, edited=True),
    ),
)


@pytest.mark.parametrize("form", FORMATS)
def test_transcript_contains_every_version(form: type[TranscriptFormat]) -> None:
    text = render_with_turns(form(), REVISED_TURN)
    for words in ("Split it in May.", "Split it today.", "Never split it."):
        assert text.count(words) == 1
    assert render_with_turns(form(), VersionedTurn(REVISED_TURN.current)).count("Never") == 0


@pytest.mark.parametrize("form", [MarkdownFormat, HtmlFormat])
def test_transcript_labels_versions(form: type[TranscriptFormat]) -> None:
    text = render_with_turns(form(), REVISED_TURN)
    assert text.index("Split it in May.") < text.index("Version 1 of 3") < text.index("Version 2 of 3")
    assert "Version 2 of 3, edited by hand" in text


def render_with_turns(transcript_format: TranscriptFormat, *turns: VersionedTurn) -> str:
    return (
        transcript_format.render_start(DISCUSSION)
        + transcript_format.render_turns(turns, {})
        + transcript_format.render_end(EMPTY_BOARD)
    )


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    async with database_with_accounts(request.param, tmp_path) as database:
        yield database


@pytest.fixture
async def app(database: Database) -> AsyncIterator[LocalApp]:
    async with create_local_app(database) as app:
        yield app


async def export_json(app: LocalApp, id: str) -> TranscriptDocument:
    caller = await app.services.accounts.ensure_local_account()
    discussion = await app.services.discussions.get_discussion(caller.tenant, id)
    pieces = TranscriptExporter(app.worker.stores).export_chunks(caller.tenant, discussion, JsonFormat())
    return msgspec.json.decode(b"".join([piece async for piece in pieces]), type=TranscriptDocument)


async def create_long_discussion(app: LocalApp, questions: int) -> str:
    opened = await app.create_discussion()
    id, run = opened["discussion"]["id"], opened["run"]["id"]
    await app.record_answer(run, "So. ", "0")
    for number in range(1, questions):
        reply = await app.call_ok("POST", f"/api/discussions/{id}/messages", {"message": f"And {number}?"})
        await app.record_answer(reply["run"]["id"], "So. ", str(number))
    return str(id)


def message_contents(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages]


@pytest.mark.parametrize("page", [1, 2, 3, 6, 7, 50])
async def test_every_message_is_exported_once_for_any_page_size(
    app: LocalApp, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", page)
    id = await create_long_discussion(app, 3)
    document = await export_json(app, id)
    assert message_contents(document.messages) == [
        "What is a moot?",
        "So. 0",
        "And 1?",
        "So. 1",
        "And 2?",
        "So. 2",
    ]
    assert [run.id for run in document.runs] == list(dict.fromkeys(message.run for message in document.messages))


async def test_report_follows_last_message_of_run(app: LocalApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 3)
    seen: list[str] = []

    class RecordingFormat(JsonFormat):
        def render_turns(self, turns: Sequence[VersionedTurn], files: Any) -> str:
            seen.extend(message_contents([turn.current for turn in turns]))
            return super().render_turns(turns, files)

        def render_report(self, report: Any) -> str:
            seen.append(report.status)
            return super().render_report(report)

    id = await create_long_discussion(app, 2)
    caller = await app.services.accounts.ensure_local_account()
    discussion = await app.services.discussions.get_discussion(caller.tenant, id)
    async for _ in TranscriptExporter(app.worker.stores).export_chunks(caller.tenant, discussion, RecordingFormat()):
        pass
    assert seen == ["What is a moot?", "So. 0", "completed", "And 1?", "So. 1", "completed"]


class RevisedDebate:
    """A debate of more than one page. Beta failed in the first run; later messages have higher numbers."""

    def __init__(self, app: LocalApp, discussion_id: str, run_id: str) -> None:
        self.app = app
        self.discussion_id = discussion_id
        self.run_id = run_id
        app.services.retries._start = lambda run, revision: None

    async def list_messages(self) -> list[Message]:
        return list(await self.app.services.discussions.list_messages(self.discussion_id, include_hidden=False))

    async def edit_turn(self, position: int, content: str) -> None:
        turn = (await self.list_messages())[position].id
        await self.app.call_ok("PATCH", f"/api/discussions/{self.discussion_id}/turns/{turn}", {"content": content})

    async def retry_lane(self, participant: str) -> None:
        """Retry a participant of the first run, who answers this time."""
        await self.app.call_ok("POST", f"/api/runs/{self.run_id}/lanes/{participant}/retry")
        lease = await self._acquire_lease(self.run_id)
        writer = RunWriter(self.app.services.database, lease)
        await writer.write_records([make_turn(lease, participant)])
        await writer.end_run(revision=1)

    async def regenerate(self, position: int) -> str:
        """Regenerate an answer, and return the ID of the run."""
        answer = (await self.list_messages())[position]
        path = f"/api/discussions/{self.discussion_id}/turns/{answer.id}/regenerate"
        run: str = (await self.app.call_ok("POST", path))["run"]["id"]
        lease = await self._acquire_lease(run)
        writer = RunWriter(self.app.services.database, lease)
        turn = make_turn(lease, answer.participant or "", answer.stage or "", version_of=answer.id)
        await writer.write_records([replace(turn, content="Regenerated.")])
        await writer.end_run()
        return run

    async def _acquire_lease(self, run: str) -> RunLease:
        lease = await self.app.services.runs.acquire_lease(run, self.app.worker.id)
        assert lease is not None
        return lease


@pytest.fixture
async def revised_debate(app: LocalApp, monkeypatch: pytest.MonkeyPatch) -> RevisedDebate:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 8)
    opened = await app.create_discussion(mode="debate")
    id, run = opened["discussion"]["id"], opened["run"]["id"]
    lease = await app.services.runs.acquire_lease(run, app.worker.id)
    assert lease is not None
    writer = RunWriter(app.services.database, lease)
    alpha = make_turn(lease, "alpha", view="blind", visible_until=opened["message"]["seq"])
    await writer.write_records([alpha, make_turn(lease, "beta", status="failed")])
    await writer.end_run()
    for number in range(1, export.MESSAGES_PER_PAGE // 2 + 2):
        reply = await app.call_ok("POST", f"/api/discussions/{id}/messages", {"message": f"And {number}?"})
        await app.record_answer(reply["run"]["id"], "So. ", str(number))
    return RevisedDebate(app, id, run)


async def test_edited_retried_and_regenerated_turns_keep_their_position(
    revised_debate: RevisedDebate,
) -> None:
    await revised_debate.edit_turn(0, "What was a moot?")
    await revised_debate.retry_lane("beta")
    await revised_debate.regenerate(1)
    document, read = (
        await export_json(revised_debate.app, revised_debate.discussion_id),
        await revised_debate.list_messages(),
    )
    assert message_contents(document.messages[:4]) == [
        "What was a moot?",
        "Regenerated.",
        "beta in initial",
        "And 1?",
    ]
    assert len(document.messages) == export.MESSAGES_PER_PAGE + 5
    assert list(document.messages) == read


async def test_regenerating_run_is_not_exported_separately(revised_debate: RevisedDebate) -> None:
    before = await export_json(revised_debate.app, revised_debate.discussion_id)
    regenerating_run = await revised_debate.regenerate(1)
    document = await export_json(revised_debate.app, revised_debate.discussion_id)
    assert document.messages[1].content == "Regenerated."
    assert regenerating_run not in [run.id for run in document.runs]
    assert [run.id for run in document.runs] == [run.id for run in before.runs]


async def test_export_ignores_changes_made_during_export(
    revised_debate: RevisedDebate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "MESSAGES_PER_PAGE", 2)
    caller = await revised_debate.app.services.accounts.ensure_local_account()
    discussion = await revised_debate.app.services.discussions.get_discussion(
        caller.tenant, revised_debate.discussion_id
    )
    before = await revised_debate.list_messages()
    seen: list[Message] = []

    class RecordingFormat(JsonFormat):
        def render_turns(self, turns: Sequence[VersionedTurn], files: Any) -> str:
            seen.extend(turn.current for turn in turns)
            return super().render_turns(turns, files)

    telling_it = TranscriptExporter(revised_debate.app.worker.stores).export_chunks(
        caller.tenant, discussion, RecordingFormat()
    )
    while not seen:
        await anext(telling_it)
    await revised_debate.edit_turn(-1, "So be it.")
    await revised_debate.retry_lane("beta")
    async for _ in telling_it:
        pass
    assert seen == [*before[:2], *before[3:]], "Beta's failed turn is gone, and the other came later"


@pytest.mark.parametrize(("mode", "looks"), [("single", 0), ("debate", 0), ("directed", 1)])
async def test_whiteboard_is_read_only_for_directed_mode(app: LocalApp, mode: str, looks: int) -> None:
    caller = await app.services.accounts.ensure_local_account()
    opened = await app.create_discussion(mode=mode)
    discussion = await app.services.discussions.get_discussion(caller.tenant, opened["discussion"]["id"])
    transcripts = TranscriptExporter(app.worker.stores)
    reads: list[str] = []

    class RecordingWhiteboards(Whiteboards):
        async def whiteboard_at(
            self, tenant: str, discussion: str, run: str | None = None, seq: int | None = None
        ) -> Board:
            reads.append(discussion)
            return await super().whiteboard_at(tenant, discussion, run, seq)

    transcripts._boards = RecordingWhiteboards(app.worker.stores)
    chunks = [piece async for piece in transcripts.export_chunks(caller.tenant, discussion, JsonFormat())]
    assert reads == [discussion.id] * looks
    assert msgspec.json.decode(b"".join(chunks), type=TranscriptDocument).whiteboard == Board()


async def test_run_without_answers_is_exported(app: LocalApp) -> None:
    document = await export_json(app, (await app.create_discussion())["discussion"]["id"])
    assert (message_contents(document.messages), [run.status for run in document.runs]) == (
        ["What is a moot?"],
        ["waiting"],
    )


async def test_closed_export_does_not_affect_next_export(app: LocalApp) -> None:
    id = await create_long_discussion(app, 2)
    caller = await app.services.accounts.ensure_local_account()
    discussion = await app.services.discussions.get_discussion(caller.tenant, id)
    transcripts = TranscriptExporter(app.worker.stores)
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
def test_transcript_file_name_is_safe_form_of_title(title: str, name: str) -> None:
    assert transcript_file_name(replace(DISCUSSION, title=title), MarkdownFormat()) == name
