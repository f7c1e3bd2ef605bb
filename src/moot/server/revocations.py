"""Ending what is open when its credential is taken away: a log-out, a new password, an account that is removed."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Never

from moot.model.accounts import Caller
from moot.model.errors import StoreUnavailable
from moot.store.accounts import Accounts

SECONDS = 2.0

Ending = Callable[[], object]


class Revocations:
    """All open streams are checked together, with one query, every two seconds."""

    def __init__(self, accounts: Accounts, seconds: float = SECONDS) -> None:
        self._accounts = accounts
        self._seconds = seconds
        self._open: dict[object, tuple[str, Ending]] = {}

    @contextmanager
    def watching(self, caller: Caller, end: Ending) -> Iterator[None]:
        """Call `end`, once and in the loop, if the caller's credential goes while the block is open."""
        place = object()
        if caller.kind != "local":
            self._open[place] = (caller.credential, end)
        try:
            yield
        finally:
            self._open.pop(place, None)

    async def run(self) -> Never:
        """Check for as long as the server runs."""
        while True:
            await asyncio.sleep(self._seconds)
            try:
                await self.check()
            except StoreUnavailable:
                continue  # nothing could be taken away meanwhile; the next check sees it

    async def check(self) -> None:
        watched = list(self._open.items())  # others may come while the database is asked
        if not watched:
            return
        valid = await self._accounts.still_valid({credential for _, (credential, _) in watched})
        for place, (credential, end) in watched:
            if credential not in valid and self._open.pop(place, None) is not None:
                end()
