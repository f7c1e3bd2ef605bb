"""Summaries of discussions, for discussions that reference them.

The newest summary is valid. Older ones stay, because stored prompts contain them.
"""

from collections.abc import Callable, Collection

from msgspec.structs import asdict
from sqlalchemy import func, insert, select

from moot.store.billing.usage import add_charges
from moot.store.database import Database, retry_while_unavailable
from moot.store.schema.discussions import discussion, message
from moot.store.schema.library import discussion_summary
from moot.types.billing import Charge, Payer
from moot.types.knowledge import DiscussionSummary

SUMMARY_COLUMNS = [discussion_summary.c[name] for name in DiscussionSummary.__struct_fields__]

# A summary contains only messages that all participants of the discussion could see.
PUBLIC_MESSAGES = (
    message.c.version_of.is_(None),
    message.c.hidden.is_(False),
    message.c.visible_to.is_(None),
    message.c.status != "failed",
    message.c.role != "system",
    message.c.content != "",
)


class DiscussionSummaries:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def find_by_title(self, tenant: str, matches: Callable[[str], bool]) -> list[str]:
        """Return the ids of discussions whose title matches, newest first.

        The callback checks every title, because databases fold the case of letters in different ways.
        """
        query = select(discussion.c.id, discussion.c.title).where(discussion.c.tenant == tenant)
        newest = query.order_by(discussion.c.updated_at.desc(), discussion.c.id.desc())
        return [row.id for row in await self._database.fetch_all(newest) if matches(row.title)]

    @retry_while_unavailable
    async def count_public_messages(self, discussion_id: str) -> int:
        query = select(func.count()).where(message.c.discussion == discussion_id, *PUBLIC_MESSAGES)
        return int(await self._database.fetch_value(query))

    @retry_while_unavailable
    async def newest_summary(self, tenant: str, discussion_id: str) -> DiscussionSummary | None:
        query = select(*SUMMARY_COLUMNS).where(
            discussion_summary.c.discussion == discussion_id, discussion_summary.c.tenant == tenant
        )
        newest = query.order_by(discussion_summary.c.created_at.desc(), discussion_summary.c.id.desc()).limit(1)
        return await self._database.fetch_struct(DiscussionSummary, newest)

    @retry_while_unavailable
    async def save_summary(self, payer: Payer, new: DiscussionSummary, charge: Charge) -> None:
        """Store summary and charge in one transaction, so that neither is repeated after a crash."""
        async with self._database.write() as connection:
            await connection.execute(insert(discussion_summary).values(**asdict(new), tenant=payer.tenant))
            await add_charges(self._database, connection, payer, [charge])

    async def summaries_by_ids(self, tenant: str, ids: Collection[str]) -> dict[str, DiscussionSummary]:
        """Return summaries by id. The result omits unknown ids."""
        query = select(*SUMMARY_COLUMNS).where(discussion_summary.c.id.in_(ids), discussion_summary.c.tenant == tenant)
        return {one.id: one for one in await self._database.fetch_structs(DiscussionSummary, query)}
