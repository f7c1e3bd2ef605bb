"""A reply that is kept under the Idempotency-Key of its request, where there is one: what comes twice is done once."""

from moot.server.completions.wire import Asked, Completion
from moot.store.database import Database
from moot.store.replies import give_key_back, keep_reply, take_key


class Keeping:
    """For one request. Without a key nothing is kept; with one, nothing but a whole reply."""

    def __init__(self, database: Database, tenant: str, key: str | None) -> None:
        self._database = database
        self._tenant = tenant
        self._key = key
        self._taken = False

    async def earlier(self, asked: Asked) -> Completion | None:
        """Return the reply that was given before, or take the key."""
        if self._key is None:
            return None
        found = await take_key(self._database, self._tenant, self._key, asked, Completion)
        self._taken = found is None
        return found

    async def keep(self, reply: Completion) -> None:
        if self._key is not None and self._taken:
            async with self._database.write() as connection:
                await keep_reply(connection, self._tenant, self._key, reply)
            self._taken = False

    async def give_back(self) -> None:
        """Let the request be made again, unless its reply was kept."""
        if self._key is not None and self._taken:
            self._taken = False
            await give_key_back(self._database, self._tenant, self._key)
