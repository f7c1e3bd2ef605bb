"""Exports a discussion page by page, in the chosen format."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from moot.engine.whiteboards import Whiteboards
from moot.services.run_reports import RunReport, RunReports
from moot.store.database import Database
from moot.store.discussions.files import Files
from moot.store.discussions.snapshots import DiscussionSnapshot, DiscussionSnapshots
from moot.store.runs.runs import Runs
from moot.types.discussions import Discussion, Run
from moot.types.files import StoredFile
from moot.types.versions import VersionedTurn
from moot.whiteboard.render.elements import replace_unprintable
from moot.whiteboard.state import EMPTY_BOARD, Board


class TranscriptFormat(Protocol):
    """Each method returns what is written next, and leaves nothing out, also no other version of an answer.

    What a run came to is told after the last of its turns.
    """

    media_type: str
    extension: str

    def render_start(self, discussion: Discussion) -> str: ...

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str: ...

    def render_report(self, report: RunReport) -> str: ...

    def render_end(self, board: Board) -> str: ...


MESSAGES_PER_PAGE = 50  # messages that are read, and written, at once
MAX_NAME_CHARS = 80


class TranscriptExporter:
    def __init__(self, database: Database) -> None:
        self._snapshots = DiscussionSnapshots(database)
        self._files = Files(database)
        self._runs = Runs(database)
        self._reports = RunReports(database)
        self._boards = Whiteboards(database)
        self._lock = asyncio.Lock()

    async def export_chunks(
        self, tenant: str, discussion: Discussion, output_format: TranscriptFormat
    ) -> AsyncGenerator[bytes, None]:
        """Write a discussion as it is now, bit by bit: whoever takes it slowly keeps little of it in memory."""
        told: set[str] = set()
        yield await self._render_in_thread(lambda: output_format.render_start(discussion))
        # A reader that leaves must not break a connection in the middle of a query.
        seats = [who.id for who in discussion.participants]
        now = await asyncio.shield(self._snapshots.take_snapshot(discussion.id, seats))
        runs = await asyncio.shield(self._runs.list_runs(tenant, discussion.id))
        last: str | None = None
        async for page in self._read_pages(now):
            for run, some in groupby(page, key=lambda turn: turn.current.run):
                if last is not None and run != last:
                    yield await self._render_report(tenant, last, output_format, told)
                yield await self._render_turns(tenant, list(some), output_format)
                last = run
        for one in runs:
            if one.again is None:  # else it is told as a version of the answer that it gave anew
                yield await self._render_report(tenant, one.id, output_format, told)
        board = await self._final_whiteboard(tenant, discussion.id, runs)
        yield await self._render_in_thread(lambda: output_format.render_end(board))

    async def _read_pages(self, snapshot: DiscussionSnapshot) -> AsyncIterator[Sequence[VersionedTurn]]:
        for start in range(0, len(snapshot.turn_numbers), MESSAGES_PER_PAGE):
            yield await asyncio.shield(
                self._snapshots.read_turns(snapshot, snapshot.turn_numbers[start : start + MESSAGES_PER_PAGE])
            )

    async def _final_whiteboard(self, tenant: str, discussion: str, runs: Sequence[Run]) -> Board:
        """Return the whiteboard, for which all is read once more: only where there was a lesson."""
        if not any(run.mode == "directed" for run in runs):
            return EMPTY_BOARD
        return await asyncio.shield(self._boards.whiteboard_at(tenant, discussion))

    async def _render_turns(
        self, tenant: str, turns: Sequence[VersionedTurn], output_format: TranscriptFormat
    ) -> bytes:
        ids = [id for turn in turns for id in turn.current.files or ()]
        files = await asyncio.shield(self._files.find_files(tenant, ids)) if ids else {}
        return await self._render_in_thread(lambda: output_format.render_turns(turns, files))

    async def _render_report(
        self, tenant: str, run: str, output_format: TranscriptFormat, reported_runs: set[str]
    ) -> bytes:
        if run in reported_runs:
            return b""
        reported_runs.add(run)
        report = await asyncio.shield(self._reports.get_report(tenant, run))
        return await self._render_in_thread(lambda: output_format.render_report(report))

    async def _render_in_thread(self, render: Callable[[], str]) -> bytes:
        """Write in a thread, one for all: what is long to write is not to hold up anybody else."""
        async with self._lock:
            text = await asyncio.to_thread(render)
        return text.encode()


def transcript_file_name(discussion: Discussion, output_format: TranscriptFormat) -> str:
    """Call a transcript as its discussion is called, as far as that can be the name of a file anywhere."""
    words = " ".join(re.sub(r"[^\w\-. ]+", " ", replace_unprintable(discussion.title)).split())
    return f"{words[:MAX_NAME_CHARS].strip(' .') or 'discussion'}.{output_format.extension}"
