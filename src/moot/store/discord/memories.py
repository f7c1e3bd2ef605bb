"""Recent messages of a Discord channel, and summaries of older ones."""

from typing import Any, NamedTuple

from msgspec.structs import asdict
from sqlalchemy import select

from moot.store.database import Database, retry_while_unavailable
from moot.store.discussions.discussions import MESSAGE_COLUMNS, is_current_version
from moot.store.schema.discord import channel, channel_memory, channel_run
from moot.store.schema.discussions import message
from moot.store.schema.runs import run
from moot.types.discord import MemorySummary
from moot.types.discussions import Message

MAX_CHANNEL_MESSAGES = 200  # the newest ones per query
MEMORY_COLUMNS = [channel_memory.c[name] for name in MemorySummary.__struct_fields__]


class ChannelMessage(NamedTuple):
    message: Message
    from_channel: bool  # a user wrote it in the channel, not on the page


class ChannelMemories:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_channel(self, tenant: str, discussion: str) -> str | None:
        """Return the id of the channel bound to a discussion. Of several, return the one bound last."""
        mine = (channel.c.discussion == discussion, channel.c.tenant == tenant)
        query = select(channel.c.id).where(*mine).order_by(channel.c.created_at.desc()).limit(1)
        found: str | None = await self._database.fetch_value(query)
        return found

    async def channel_messages(self, tenant: str, id: str, since: float) -> list[ChannelMessage]:
        """Return messages in their current versions, oldest first. `since` is in seconds since 1970."""
        from_channel = (run.c.message == message.c.id) & channel_run.c.message.is_not(None)
        query = (
            select(*MESSAGE_COLUMNS, from_channel.label("from_channel"))
            .select_from(message.join(run, run.c.id == message.c.run).join(channel_run, channel_run.c.run == run.c.id))
            .where(
                channel_run.c.channel == id,
                message.c.tenant == tenant,
                message.c.hidden.is_(False),
                message.c.created_at >= since,
                is_current_version(),
            )
            .order_by(message.c.created_at.desc(), message.c.seq.desc())
            .limit(MAX_CHANNEL_MESSAGES)
        )
        rows = await self._database.fetch_structs(dict[str, Any], query)
        return [
            ChannelMessage(from_channel=bool(row.pop("from_channel")), message=Message(**row)) for row in reversed(rows)
        ]

    async def memory_summaries(self, id: str) -> dict[str, MemorySummary]:
        """Return summaries by participant id."""
        query = select(channel_memory.c.participant, *MEMORY_COLUMNS).where(channel_memory.c.channel == id)
        rows = await self._database.fetch_structs(dict[str, Any], query)
        return {row.pop("participant"): MemorySummary(**row) for row in rows}

    @retry_while_unavailable
    async def save_memory_summary(self, id: str, participant: str, summary: MemorySummary) -> None:
        """Replace the stored summary, unless a concurrent task stored a newer one."""
        values = asdict(summary)
        new = self._database.insert_into(channel_memory).values(channel=id, participant=participant, **values)
        is_older = channel_memory.c.covers_until <= summary.covers_until
        await self._database.execute(
            new.on_conflict_do_update(index_elements=["channel", "participant"], set_=values, where=is_older)
        )
