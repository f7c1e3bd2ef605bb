"""Channels of a chat service: what they are bound to, what was heard in them, and how far runs were told there."""

import time

from msgspec.structs import asdict
from sqlalchemy import delete, select, update

from moot.store.database import Database
from moot.store.schema import channel, channel_message, channel_post, channel_run, run
from moot.types.discord import ChannelBinding, DeliveryProgress

BINDING_COLUMNS = [channel.c[name] for name in ChannelBinding.__struct_fields__]


class Channels:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def list_bindings(self, tenant: str) -> tuple[ChannelBinding, ...]:
        query = select(*BINDING_COLUMNS).where(channel.c.tenant == tenant).order_by(channel.c.id)
        async with self._database.read() as connection:
            return tuple(ChannelBinding(**row) for row in (await connection.execute(query)).mappings())

    async def find_binding(self, tenant: str, id: str) -> ChannelBinding | None:
        query = select(*BINDING_COLUMNS).where(channel.c.id == id, channel.c.tenant == tenant)
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
        return ChannelBinding(**row) if row is not None else None

    async def save_binding(self, binding: ChannelBinding) -> None:
        """Bind a channel, whatever it was bound to before."""
        values = asdict(binding)
        new = self._database.insert_into(channel).values(**values)
        async with self._database.write() as connection:
            await connection.execute(new.on_conflict_do_update(index_elements=["id"], set_=values))

    async def record_error(self, id: str, error: str | None) -> None:
        """Note why nothing is sent to a channel any more; None is that all is well."""
        async with self._database.write() as connection:
            await connection.execute(update(channel).where(channel.c.id == id).values(trouble=error))

    async def enqueue_message(self, id: str, message: str) -> None:
        """Note a message that is to be said, before anything is done with it."""
        heard = self._database.insert_into(channel_message).values(
            id=message, channel=id, created_at=time.time()
        )
        async with self._database.write() as connection:
            await connection.execute(heard.on_conflict_do_nothing())

    async def pending_messages(self, id: str) -> list[str]:
        """Name the messages that were heard in a channel and not said, in their order."""
        query = select(channel_message.c.id).where(channel_message.c.channel == id)
        query = query.order_by(channel_message.c.created_at, channel_message.c.id)
        async with self._database.read() as connection:
            return list((await connection.execute(query)).scalars())

    async def discard_message(self, message: str) -> None:
        async with self._database.write() as connection:
            await connection.execute(delete(channel_message).where(channel_message.c.id == message))

    async def record_answering_run(self, id: str, message: str, run_id: str, author: str) -> None:
        """Note which run answers a message that was heard, and who wrote it."""
        new = self._database.insert_into(channel_run).values(
            channel=id, run=run_id, seq=0, message=message, author=author
        )
        async with self._database.write() as connection:
            await connection.execute(delete(channel_message).where(channel_message.c.id == message))
            await connection.execute(new.on_conflict_do_nothing())

    async def delivery_progress(self, id: str, run_id: str) -> DeliveryProgress:
        """Tell how far a run was told in a channel."""
        mine = (channel_run.c.channel == id, channel_run.c.run == run_id)
        query = select(channel_run.c.seq, channel_run.c.message, channel_run.c.author).where(*mine)
        posts = select(channel_post.c.place, channel_post.c.message).where(
            channel_post.c.channel == id, channel_post.c.run == run_id
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).mappings().first()
            placed = {row.place: row.message for row in await connection.execute(posts)}
        return DeliveryProgress(**(row or {}), posts=placed)

    async def delivery_cursors(self, binding: ChannelBinding) -> dict[str, int]:
        """Return how far each run of a channel's discussion was told, of those that began since it was bound."""
        here = (channel_run.c.run == run.c.id) & (channel_run.c.channel == binding.id)
        query = select(run.c.id, channel_run.c.seq).select_from(run.outerjoin(channel_run, here))
        query = query.where(
            run.c.discussion == binding.discussion,
            run.c.tenant == binding.tenant,
            run.c.created_at >= binding.created_at,
        )
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(run.c.place, run.c.id))
            return {id: seq or 0 for id, seq in rows}

    async def save_delivery_cursor(self, id: str, run_id: str, seq: int) -> None:
        """Note that a run was told up to an event."""
        new = self._database.insert_into(channel_run).values(channel=id, run=run_id, seq=seq)
        async with self._database.write() as connection:
            await connection.execute(
                new.on_conflict_do_update(index_elements=["channel", "run"], set_={"seq": seq})
            )

    async def record_post(self, id: str, run_id: str, position: int, message: str | None = None) -> None:
        """Note that something is on its way, or under which id it arrived."""
        new = self._database.insert_into(channel_post).values(
            channel=id, run=run_id, place=position, message=message
        )
        same = {"index_elements": ["channel", "run", "place"], "set_": {"message": message}}
        async with self._database.write() as connection:
            await connection.execute(new.on_conflict_do_update(**same))

    async def find_known_posts(self, messages: list[str]) -> set[str]:
        """Find out which of some messages are known to be posts."""
        query = select(channel_post.c.message).where(channel_post.c.message.in_(messages))
        async with self._database.read() as connection:
            return set((await connection.execute(query)).scalars())
