"""Transcripts, read from the database page by page, however long a discussion is, and written as one reads them."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from itertools import groupby
from typing import TypeVar

from moot.board.markup import printable
from moot.engine.boards import Boards
from moot.engine.reports import Reports
from moot.model.discussions import Discussion, Message
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.files import Files
from moot.store.runs import Runs
from moot.transcript.form import Form

PAGE = 50  # messages that are read, and written, at once
NAME = 80

T = TypeVar("T")


class Transcripts:
    def __init__(self, database: Database) -> None:
        self._discussions = Discussions(database)
        self._files = Files(database)
        self._runs = Runs(database)
        self._reports = Reports(database)
        self._boards = Boards(database)
        self._turn = asyncio.Lock()

    async def pieces(self, tenant: str, discussion: Discussion, form: Form) -> AsyncGenerator[bytes, None]:
        """Write a discussion as it is now, bit by bit: whoever takes it slowly keeps little of it in memory."""
        told: set[str] = set()
        yield await self._written(lambda: form.begin(discussion))
        runs = await asyncio.shield(self._runs.of(tenant, discussion.id))
        last: str | None = None
        async for page in self._pages(discussion.id):
            for run, some in groupby(page, key=lambda one: one.run):
                if last is not None and run != last:
                    yield await self._found(tenant, last, form, told)
                yield await self._said(tenant, list(some), form)
                last = run
        for run in runs:
            yield await self._found(tenant, run, form, told)
        board = await asyncio.shield(self._boards.at(tenant, discussion.id))
        yield await self._written(lambda: form.end(board))

    async def _pages(self, discussion: str) -> AsyncIterator[Sequence[Message]]:
        """Find where pages begin from the newest back, then read them from the oldest on."""
        starts: list[int | None] = [None]
        page = newest = await self._page(discussion, None, None)
        upto = max((message.number for message in newest), default=0)
        while len(page) == PAGE:
            starts.append(page[0].number)
            page = await self._page(discussion, starts[-1], upto)
        for start in reversed(starts[1:]):
            yield await self._page(discussion, start, upto)
        yield newest

    async def _page(self, discussion: str, before: int | None, upto: int | None) -> Sequence[Message]:
        # A reader that leaves must not break a connection in the middle of a query.
        return await asyncio.shield(
            self._discussions.messages(discussion, before=before, upto=upto, limit=PAGE, hidden=False)
        )

    async def _said(self, tenant: str, messages: Sequence[Message], form: Form) -> bytes:
        ids = [id for message in messages for id in message.files or ()]
        files = await asyncio.shield(self._files.several(tenant, ids)) if ids else {}
        return await self._written(lambda: form.said(messages, files))

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
