"""Discord channels: bindings, queued messages, and delivery progress of runs."""

import time

from msgspec.structs import asdict
from sqlalchemy import delete, select, update

from moot.store.database import Database, retry_while_unavailable
from moot.store.schema.discord import channel, channel_message, channel_post, channel_run
from moot.store.schema.runs import run
from moot.types.discord import ChannelBinding, DeliveryProgress

BINDING_COLUMNS = [channel.c[name] for name in ChannelBinding.__struct_fields__]


class Channels:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_bindings(self, tenant: str) -> tuple[ChannelBinding, ...]:
        query = select(*BINDING_COLUMNS).where(channel.c.tenant == tenant).order_by(channel.c.id)
        return await self._database.fetch_structs(ChannelBinding, query)

    async def find_binding(self, tenant: str, id: str) -> ChannelBinding | None:
        query = select(*BINDING_COLUMNS).where(channel.c.id == id, channel.c.tenant == tenant)
        return await self._database.fetch_struct(ChannelBinding, query)

    async def save_binding(self, binding: ChannelBinding) -> None:
        """Insert the binding, or replace that of the same channel."""
        values = asdict(binding)
        new = self._database.insert_into(channel).values(**values)
        await self._database.execute(new.on_conflict_do_update(index_elements=["id"], set_=values))

    async def record_error(self, id: str, error: str | None) -> None:
        """Store why sending is disabled. None clears the error."""
        await self._database.execute(update(channel).where(channel.c.id == id).values(error=error))

    async def enqueue_message(self, id: str, message: str) -> None:
        """Store a received message before it is processed, so that a crash does not lose it. Idempotent."""
        new = self._database.insert_into(channel_message).values(id=message, channel=id, created_at=time.time())
        await self._database.execute(new.on_conflict_do_nothing())

    @retry_while_unavailable
    async def pending_messages(self, id: str) -> list[str]:
        """Return the ids of queued messages, oldest first."""
        query = select(channel_message.c.id).where(channel_message.c.channel == id)
        query = query.order_by(channel_message.c.created_at, channel_message.c.id)
        return list(await self._database.fetch_values(query))

    async def discard_message(self, message: str) -> None:
        await self._database.execute(delete(channel_message).where(channel_message.c.id == message))

    async def record_answering_run(self, id: str, message: str, run_id: str, author: str) -> None:
        """Remove a message from the queue and store the run that answers it, in one transaction."""
        new = self._database.insert_into(channel_run).values(
            channel=id, run=run_id, seq=0, message=message, author=author
        )
        async with self._database.write() as connection:
            await connection.execute(delete(channel_message).where(channel_message.c.id == message))
            await connection.execute(new.on_conflict_do_nothing())

    async def delivery_progress(self, id: str, run_id: str) -> DeliveryProgress:
        """Return default values if nothing of the run is delivered yet."""
        mine = (channel_run.c.channel == id, channel_run.c.run == run_id)
        query = select(channel_run.c.seq, channel_run.c.message, channel_run.c.author).where(*mine)
        posts = select(channel_post.c.position, channel_post.c.message).where(
            channel_post.c.channel == id, channel_post.c.run == run_id
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
            message_ids = {row.position: row.message for row in await connection.execute(posts)}
        return DeliveryProgress(**(row or {}), posts=message_ids)

    async def delivery_cursors(self, binding: ChannelBinding) -> dict[str, int]:
        """Return the last delivered seq, or 0, of each run that started after the channel was bound, in order."""
        of_channel = (channel_run.c.run == run.c.id) & (channel_run.c.channel == binding.id)
        query = select(run.c.id, channel_run.c.seq).select_from(run.outerjoin(channel_run, of_channel))
        query = query.where(
            run.c.discussion == binding.discussion,
            run.c.tenant == binding.tenant,
            run.c.created_at >= binding.created_at,
        )
        return {id: seq or 0 for id, seq in await self._database.fetch_all(query.order_by(run.c.position, run.c.id))}

    async def save_delivery_cursor(self, id: str, run_id: str, seq: int) -> None:
        new = self._database.insert_into(channel_run).values(channel=id, run=run_id, seq=seq)
        await self._database.execute(new.on_conflict_do_update(index_elements=["channel", "run"], set_={"seq": seq}))

    async def record_post(self, id: str, run_id: str, position: int, message: str | None = None) -> None:
        """Store that a post is about to be sent, or with `message` the id that Discord returned.

        A post without an id after a crash may or may not have arrived.
        """
        new = self._database.insert_into(channel_post).values(
            channel=id, run=run_id, position=position, message=message
        )
        same = {"index_elements": ["channel", "run", "position"], "set_": {"message": message}}
        await self._database.execute(new.on_conflict_do_update(**same))

    async def find_known_posts(self, messages: list[str]) -> set[str]:
        """Return those message ids that are posts of runs."""
        query = select(channel_post.c.message).where(channel_post.c.message.in_(messages))
        return set(await self._database.fetch_values(query))
