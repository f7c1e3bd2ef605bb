"""How often something may happen, counted in the database for all workers together, by its own clock."""

from sqlalchemy import TextClause, text

from moot.store.database import Database

MINUTE = 60.0
FORGET_EVERY = 1000

# The generic cell rate algorithm: `free_at` is when all that was taken will have been given back. It may lie
# a minute ahead, no further; where it does, the clock was set back, and the count begins anew.
TAKE = """
INSERT INTO rate (name, free_at) VALUES (:name, {now} + :interval)
ON CONFLICT (name) DO UPDATE SET free_at = :interval + CASE
    WHEN rate.free_at BETWEEN {now} AND {now} + :minute + :interval THEN rate.free_at ELSE {now} END
WHERE rate.free_at NOT BETWEEN {now} + :minute - :interval + 0.001 AND {now} + :minute + :interval
RETURNING free_at
"""
FORGET = "DELETE FROM rate WHERE free_at < {now} - :minute"
POSTGRES_NOW = "extract(epoch FROM statement_timestamp())::float8"
SQLITE_NOW = "((julianday('now') - 2440587.5) * 86400.0)"


class Rates:
    def __init__(self, database: Database) -> None:
        self._database = database
        now = POSTGRES_NOW if database.is_postgres else SQLITE_NOW
        self._take = _statement(TAKE, now)
        self._forget = _statement(FORGET, now)
        self._taken = 0

    async def take(self, name: str, a_minute: int) -> float | None:
        """Count one; return None if it may happen, or else after how many seconds at most the next one may."""
        interval = MINUTE / a_minute
        values = {"name": name, "interval": interval, "minute": MINUTE}
        async with self._database.write() as connection:
            taken = (await connection.execute(self._take, values)).first()
        await self._sweep()
        return None if taken else interval

    async def _sweep(self) -> None:
        """Forget, now and then, the names that have all their minute free."""
        self._taken += 1
        if self._taken % FORGET_EVERY == 0:
            async with self._database.write() as connection:
                await connection.execute(self._forget, {"minute": MINUTE})


def _statement(sql: str, now: str) -> TextClause:
    return text(sql.format(now=now))
