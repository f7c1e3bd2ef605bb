"""Transcript export: streams a discussion in a format, page by page."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from moot.engine.whiteboards import Whiteboards
from moot.services.run_reports import RunReport, RunReports
from moot.store.discussions.snapshots import DiscussionSnapshot
from moot.store.stores import Stores
from moot.types.discussions import Discussion, Run
from moot.types.files import StoredFile
from moot.types.modes import MODES
from moot.types.versions import VersionedTurn
from moot.whiteboard.render.elements import replace_unprintable
from moot.whiteboard.state import EMPTY_BOARD, Board


class TranscriptFormat(Protocol):
    """Renders a discussion in order. Each method returns the next part of the file, or an empty string.

    The exporter calls `render_report` after the last turn of a run.
    """

    media_type: str
    extension: str

    def render_start(self, discussion: Discussion) -> str: ...

    def render_turns(self, turns: Sequence[VersionedTurn], files: Mapping[str, StoredFile]) -> str: ...

    def render_report(self, report: RunReport) -> str: ...

    def render_end(self, board: Board) -> str: ...


MESSAGES_PER_PAGE = 50  # per database query and output chunk
MAX_NAME_CHARS = 80


class TranscriptExporter:
    def __init__(self, stores: Stores) -> None:
        self._stores = stores
        self._reports = RunReports(stores)
        self._boards = Whiteboards(stores)
        self._lock = asyncio.Lock()

    async def export_chunks(
        self, tenant: str, discussion: Discussion, output_format: TranscriptFormat
    ) -> AsyncGenerator[bytes, None]:
        """Yield a snapshot of the discussion in chunks, so that a slow client needs little memory."""
        reported_runs: set[str] = set()
        yield await self._render_in_thread(lambda: output_format.render_start(discussion))
        # Shielded: a client disconnect cancels this task, which would break a connection during a query.
        order = [who.id for who in discussion.participants]
        snapshot = await asyncio.shield(self._stores.snapshots.take_snapshot(discussion.id, order))
        runs = await asyncio.shield(self._stores.runs.list_runs(tenant, discussion.id))
        last: str | None = None
        async for page in self._read_pages(snapshot):
            for run, turns in groupby(page, key=lambda turn: turn.current.run):
                if last is not None and run != last:
                    yield await self._render_report(tenant, last, output_format, reported_runs)
                yield await self._render_turns(tenant, list(turns), output_format)
                last = run
        for one in runs:
            if one.regenerates is None:  # a regenerated answer is rendered as a version of its turn
                yield await self._render_report(tenant, one.id, output_format, reported_runs)
        board = await self._final_whiteboard(tenant, discussion.id, runs)
        yield await self._render_in_thread(lambda: output_format.render_end(board))

    async def _read_pages(self, snapshot: DiscussionSnapshot) -> AsyncIterator[Sequence[VersionedTurn]]:
        for start in range(0, len(snapshot.turn_seqs), MESSAGES_PER_PAGE):
            yield await asyncio.shield(
                self._stores.snapshots.read_turns(snapshot, snapshot.turn_seqs[start : start + MESSAGES_PER_PAGE])
            )

    async def _final_whiteboard(self, tenant: str, discussion: str, runs: Sequence[Run]) -> Board:
        """Replaying the actions reads all messages again, so skip it without a lesson."""
        if not any(MODES[run.mode].has_whiteboard for run in runs):
            return EMPTY_BOARD
        return await asyncio.shield(self._boards.whiteboard_at(tenant, discussion))

    async def _render_turns(
        self, tenant: str, turns: Sequence[VersionedTurn], output_format: TranscriptFormat
    ) -> bytes:
        ids = [id for turn in turns for id in turn.current.files or ()]
        files = await asyncio.shield(self._stores.files.find_files(tenant, ids)) if ids else {}
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
        """Render outside the event loop. The lock keeps exports from using all threads."""
        async with self._lock:
            text = await asyncio.to_thread(render)
        return text.encode()


def transcript_file_name(discussion: Discussion, output_format: TranscriptFormat) -> str:
    """Derive a file name from the title, with characters that are valid on every system."""
    title = " ".join(re.sub(r"[^\w\-. ]+", " ", replace_unprintable(discussion.title)).split())
    return f"{title[:MAX_NAME_CHARS].strip(' .') or 'discussion'}.{output_format.extension}"
