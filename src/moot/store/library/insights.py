"""Stored insights and their embedding vectors."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict, replace
from sqlalchemy import and_, delete, insert, select, update

from moot.store.database import Database, paginate
from moot.store.discussions.discussions import notify_discussion_change
from moot.store.discussions.search import rank_matches, search_words
from moot.store.schema.discussions import discussion
from moot.store.schema.library import insight, insight_vector
from moot.types.errors import UsageError, not_found
from moot.types.knowledge import Insight, InsightPage

INSIGHT_COLUMNS = [insight.c[name] for name in Insight.__struct_fields__]
MAX_CANDIDATES = 200  # best matches of a query
MAX_CURSOR_DIGITS = 18  # fits a 64-bit column


class Insights:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save_export(
        self, tenant: str, discussion_id: str, summary: str, usefulness: float, insights: Sequence[Insight]
    ) -> tuple[Insight, ...]:
        """Replace summary and insights of a discussion in one transaction. Raises NotFound."""
        exported = {"summary": summary, "usefulness": usefulness, "exported_at": time.time()}
        mine = update(discussion).where(discussion.c.id == discussion_id, discussion.c.tenant == tenant)
        async with self._database.write() as connection:
            # Update the discussion first: its row lock makes a concurrent export wait.
            row = (await connection.execute(mine.values(**exported).returning(discussion.c.project))).first()
            if row is None:
                raise not_found("discussion", discussion_id)
            await connection.execute(delete(insight).where(insight.c.discussion == discussion_id))
            stored = tuple(replace(one, discussion=discussion_id, project=row.project) for one in insights)
            for one in stored:
                await connection.execute(insert(insight).values(**asdict(one), tenant=tenant))
            await notify_discussion_change(self._database, connection, tenant, discussion_id)
        return stored

    async def discussion_insights(self, tenant: str, id: str) -> tuple[Insight, ...]:
        """Return insights in the order in which they were stored. Raises NotFound."""
        known = select(discussion.c.id).where(discussion.c.id == id, discussion.c.tenant == tenant)
        query = select(*INSIGHT_COLUMNS).where(insight.c.discussion == id).order_by(insight.c.seq)
        async with self._database.read() as connection:
            if (await connection.execute(known)).first() is None:
                raise not_found("discussion", id)
            return tuple(Insight(**row) for row in (await connection.execute(query)).mappings())

    async def project_insights(
        self, tenant: str, id: str, *, cursor: str | None = None, limit: int = 50
    ) -> InsightPage:
        """Return a page, newest first."""
        query = select(insight.c.seq, *INSIGHT_COLUMNS).where(insight.c.project == id, insight.c.tenant == tenant)
        if cursor is not None:
            query = query.where(insight.c.seq < _parse_cursor(cursor))
        newest = query.order_by(insight.c.seq.desc()).limit(limit + 1)
        rows = await self._database.fetch_structs(dict[str, Any], newest)
        found, more = paginate(rows, limit, lambda row: str(row["seq"]))
        fields = Insight.__struct_fields__
        return InsightPage(tuple(Insight(**{name: row[name] for name in fields}) for row in found), more)

    async def score_by_words(self, tenant: str, project: str | None, q: str) -> dict[str, float]:
        """Return a score by insight id for insights that contain all words, best first.

        `project` None searches all projects of the tenant.
        """
        if not search_words(q):
            return {}
        found = rank_matches(self._database, insight, q)
        query = select(insight.c.id, found.c.score).join(found, found.c.seq == insight.c.seq)
        mine = query.where(insight.c.tenant == tenant)
        if project is not None:
            mine = mine.where(insight.c.project == project)
        best = mine.order_by(found.c.score.desc(), insight.c.seq.desc()).limit(MAX_CANDIDATES)
        return {row.id: row.score for row in await self._database.fetch_all(best)}

    async def insights_by_ids(self, tenant: str, ids: Sequence[str]) -> tuple[Insight, ...]:
        """Return insights in the order of `ids`. The result omits deleted ones."""
        query = select(*INSIGHT_COLUMNS).where(insight.c.id.in_(ids), insight.c.tenant == tenant)
        found = {one.id: one for one in await self._database.fetch_structs(Insight, query)}
        return tuple(found[one] for one in ids if one in found)


def _parse_cursor(cursor: str) -> int:
    if not cursor.isdecimal() or len(cursor) > MAX_CURSOR_DIGITS:
        raise UsageError("cursor: this server did not issue it. Omit the cursor to start from the newest.")
    return int(cursor)


MAX_VECTORS = 2000  # per search, those of the newest insights


class InsightVectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def project_vectors(self, tenant: str, project: str, model: str) -> dict[str, bytes]:
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.model == model)
        query = select(insight.c.id, insight_vector.c.vector).join(insight_vector).where(*mine)
        newest = query.order_by(insight.c.seq.desc()).limit(MAX_VECTORS)
        return {row.id: row.vector for row in await self._database.fetch_all(newest)}

    async def insights_without_vectors(self, tenant: str, project: str, model: str, limit: int) -> tuple[Insight, ...]:
        """Return the newest insights without a vector of this model."""
        made = and_(insight_vector.c.insight == insight.c.id, insight_vector.c.model == model)
        query = select(*INSIGHT_COLUMNS).outerjoin(insight_vector, made)
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.insight.is_(None))
        newest = query.where(*mine).order_by(insight.c.seq.desc()).limit(limit)
        return await self._database.fetch_structs(Insight, newest)

    async def add_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Store vectors by insight id. Vectors of deleted insights are ignored."""
        add = self._database.insert_into(insight_vector)
        # The lock prevents deletion before the insert, which would violate the foreign key.
        existing = select(insight.c.id).where(insight.c.id.in_(vectors)).with_for_update(read=True)
        async with self._database.write() as connection:
            for found in (await connection.execute(existing)).scalars().all():
                new = add.values(insight=found, model=model, vector=vectors[found])
                await connection.execute(new.on_conflict_do_nothing())
