"""What was said in a channel of a chat service, and what is left of what was said longer ago."""

from typing import NamedTuple

from msgspec.structs import asdict
from sqlalchemy import select

from moot.store.database import Database
from moot.store.discussions.messages import MESSAGE_FIELDS, is_shown
from moot.store.schema import channel, channel_memory, channel_run, message, run
from moot.types.discord import Summary
from moot.types.discussions import Message

MOST = 200  # messages of a channel that are looked at
FIELDS = [channel_memory.c[name] for name in Summary.__struct_fields__]


class Overheard(NamedTuple):
    """Something that was said; `here` is whether a person wrote it in the channel, and not on the page."""

    message: Message
    here: bool


class Memories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def channel_of(self, tenant: str, discussion: str) -> str | None:
        """Return the channel in which a discussion is led; of several, the one that was bound last."""
        mine = (channel.c.discussion == discussion, channel.c.tenant == tenant)
        query = select(channel.c.id).where(*mine).order_by(channel.c.created_at.desc()).limit(1)
        async with self._database.read() as connection:
            found: str | None = (await connection.execute(query)).scalar()
        return found

    async def overheard(self, tenant: str, id: str, since: float) -> list[Overheard]:
        """Return what was said in a channel since then, the oldest first."""
        asked = (run.c.message == message.c.id) & channel_run.c.message.is_not(None)
        query = (
            select(*MESSAGE_FIELDS, asked.label("here"))
            .select_from(
                message.join(run, run.c.id == message.c.run).join(channel_run, channel_run.c.run == run.c.id)
            )
            .where(
                channel_run.c.channel == id,
                message.c.tenant == tenant,
                message.c.hidden.is_(False),
                message.c.created_at >= since,
                is_shown(),
            )
            .order_by(message.c.created_at.desc(), message.c.number.desc())
            .limit(MOST)
        )
        async with self._database.read() as connection:
            rows = [dict(row) for row in (await connection.execute(query)).mappings()]
        return [Overheard(here=bool(row.pop("here")), message=Message(**row)) for row in reversed(rows)]

    async def summaries(self, id: str) -> dict[str, Summary]:
        """Return what participants remember of longer ago, by their ids."""
        query = select(channel_memory.c.participant, *FIELDS).where(channel_memory.c.channel == id)
        async with self._database.read() as connection:
            rows = [dict(row) for row in (await connection.execute(query)).mappings()]
        return {row.pop("participant"): Summary(**row) for row in rows}

    async def keep(self, id: str, participant: str, summary: Summary) -> None:
        """Keep a summary instead of the one before, unless a newer one was kept meanwhile."""
        values = asdict(summary)
        new = self._database.insert(channel_memory).values(channel=id, participant=participant, **values)
        newer = channel_memory.c.upto <= summary.upto
        async with self._database.write() as connection:
            await connection.execute(
                new.on_conflict_do_update(index_elements=["channel", "participant"], set_=values, where=newer)
            )
