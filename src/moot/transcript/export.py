"""Exports a discussion page by page, in the chosen format."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from itertools import groupby
from typing import Protocol

from moot.engine.whiteboards import Boards
from moot.services.run_reports import Report, Reports
from moot.store.database import Database
from moot.store.discussions.files import Files
from moot.store.discussions.snapshots import Snapshot, Snapshots
from moot.store.runs.runs import Runs
from moot.types.discussions import Discussion, Run
from moot.types.files import StoredFile
from moot.types.versions import Turn
from moot.whiteboard.render.elements import printable
from moot.whiteboard.state import EMPTY, Board


class Form(Protocol):
    """Each method returns what is written next, and leaves nothing out, also no other version of an answer.

    What a run came to is told after the last of its turns.
    """

    media_type: str
    ending: str

    def begin(self, discussion: Discussion) -> str: ...

    def said(self, turns: Sequence[Turn], files: Mapping[str, StoredFile]) -> str: ...

    def found(self, report: Report) -> str: ...

    def end(self, board: Board) -> str: ...


PAGE = 50  # messages that are read, and written, at once
NAME = 80


class Transcripts:
    def __init__(self, database: Database) -> None:
        self._snapshots = Snapshots(database)
        self._files = Files(database)
        self._runs = Runs(database)
        self._reports = Reports(database)
        self._boards = Boards(database)
        self._turn = asyncio.Lock()

    async def pieces(self, tenant: str, discussion: Discussion, form: Form) -> AsyncGenerator[bytes, None]:
        """Write a discussion as it is now, bit by bit: whoever takes it slowly keeps little of it in memory."""
        told: set[str] = set()
        yield await self._written(lambda: form.begin(discussion))
        # A reader that leaves must not break a connection in the middle of a query.
        seats = [who.id for who in discussion.participants]
        now = await asyncio.shield(self._snapshots.of(discussion.id, seats))
        runs = await asyncio.shield(self._runs.of(tenant, discussion.id))
        last: str | None = None
        async for page in self._pages(now):
            for run, some in groupby(page, key=lambda turn: turn.now.run):
                if last is not None and run != last:
                    yield await self._found(tenant, last, form, told)
                yield await self._said(tenant, list(some), form)
                last = run
        for one in runs:
            if one.again is None:  # else it is told as a version of the answer that it gave anew
                yield await self._found(tenant, one.id, form, told)
        board = await self._drawn(tenant, discussion.id, runs)
        yield await self._written(lambda: form.end(board))

    async def _pages(self, now: Snapshot) -> AsyncIterator[Sequence[Turn]]:
        for start in range(0, len(now.turns), PAGE):
            yield await asyncio.shield(self._snapshots.read(now, now.turns[start : start + PAGE]))

    async def _drawn(self, tenant: str, discussion: str, runs: Sequence[Run]) -> Board:
        """Return the whiteboard, for which all is read once more: only where there was a lesson."""
        if not any(run.mode == "directed" for run in runs):
            return EMPTY
        return await asyncio.shield(self._boards.at(tenant, discussion))

    async def _said(self, tenant: str, turns: Sequence[Turn], form: Form) -> bytes:
        ids = [id for turn in turns for id in turn.now.files or ()]
        files = await asyncio.shield(self._files.several(tenant, ids)) if ids else {}
        return await self._written(lambda: form.said(turns, files))

    async def _found(self, tenant: str, run: str, form: Form, told: set[str]) -> bytes:
        if run in told:
            return b""
        told.add(run)
        report = await asyncio.shield(self._reports.of(tenant, run))
        return await self._written(lambda: form.found(report))

    async def _written(self, write: Callable[[], str]) -> bytes:
        """Write in a thread, one for all: what is long to write is not to hold up anybody else."""
        async with self._turn:
            text = await asyncio.to_thread(write)
        return text.encode()


def file_name(discussion: Discussion, form: Form) -> str:
    """Call a transcript as its discussion is called, as far as that can be the name of a file anywhere."""
    words = " ".join(re.sub(r"[^\w\-. ]+", " ", printable(discussion.title)).split())
    return f"{words[:NAME].strip(' .') or 'discussion'}.{form.ending}"
