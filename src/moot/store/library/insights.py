"""Stored insights and their embedding vectors."""

import time
from collections.abc import Mapping, Sequence

from msgspec.structs import asdict, replace
from sqlalchemy import RowMapping, and_, delete, insert, select, update

from moot.store.database import Database, paginate
from moot.store.discussions.discussions import notify_discussion_change
from moot.store.discussions.search import rank_matches, search_words
from moot.store.schema import discussion, insight, insight_vector
from moot.types.errors import NotFound, UsageError
from moot.types.knowledge import Insight, InsightPage

INSIGHT_COLUMNS = [insight.c[name] for name in Insight.__struct_fields__]
MAX_CANDIDATES = 200  # of a search, the best by their words
MAX_CURSOR_DIGITS = 18  # digits that surely fit a column


class Insights:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def save_export(
        self, tenant: str, discussion_id: str, summary: str, usefulness: float, insights: Sequence[Insight]
    ) -> tuple[Insight, ...]:
        """Put what was found in a discussion in the place of what was found before, all at once."""
        exported = {"summary": summary, "usefulness": usefulness, "exported_at": time.time()}
        mine = update(discussion).where(discussion.c.id == discussion_id, discussion.c.tenant == tenant)
        async with self._database.write() as connection:
            # The discussion first: whoever exports it at the same time waits for this row.
            row = (await connection.execute(mine.values(**exported).returning(discussion.c.project))).first()
            if row is None:
                raise _discussion_not_found(discussion_id)
            await connection.execute(delete(insight).where(insight.c.discussion == discussion_id))
            kept = tuple(replace(one, discussion=discussion_id, project=row.project) for one in insights)
            for one in kept:
                await connection.execute(insert(insight).values(**asdict(one), tenant=tenant))
            await notify_discussion_change(self._database, connection, tenant, discussion_id)
        return kept

    async def discussion_insights(self, tenant: str, id: str) -> tuple[Insight, ...]:
        """Return the insights of a discussion, in the order in which they were written."""
        known = select(discussion.c.id).where(discussion.c.id == id, discussion.c.tenant == tenant)
        query = select(*INSIGHT_COLUMNS).where(insight.c.discussion == id).order_by(insight.c.number)
        async with self._database.read() as connection:
            if (await connection.execute(known)).first() is None:
                raise _discussion_not_found(id)
            return tuple(Insight(**row) for row in (await connection.execute(query)).mappings())

    async def project_insights(
        self, tenant: str, id: str, *, cursor: str | None = None, limit: int = 50
    ) -> InsightPage:
        """List the insights of a project, newest first."""
        query = select(insight.c.number, *INSIGHT_COLUMNS).where(
            insight.c.project == id, insight.c.tenant == tenant
        )
        if cursor is not None:
            query = query.where(insight.c.number < _parse_cursor(cursor))
        async with self._database.read() as connection:
            rows = await connection.execute(query.order_by(insight.c.number.desc()).limit(limit + 1))
        found, more = paginate(rows.mappings().all(), limit, lambda row: str(row["number"]))
        return InsightPage(tuple(map(_make_insight, found)), more)

    async def score_by_words(self, tenant: str, project: str | None, q: str) -> dict[str, float]:
        """Score the insights of a project, or of all, that have all the words, the best first."""
        if not search_words(q):
            return {}
        found = rank_matches(self._database, insight, q)
        query = select(insight.c.id, found.c.score).join(found, found.c.number == insight.c.number)
        mine = query.where(insight.c.tenant == tenant)
        if project is not None:
            mine = mine.where(insight.c.project == project)
        best = mine.order_by(found.c.score.desc(), insight.c.number.desc()).limit(MAX_CANDIDATES)
        async with self._database.read() as connection:
            return {row.id: row.score for row in await connection.execute(best)}

    async def insights_by_ids(self, tenant: str, ids: Sequence[str]) -> tuple[Insight, ...]:
        """Return insights in the order of their ids here; those that are gone are left out."""
        query = select(*INSIGHT_COLUMNS).where(insight.c.id.in_(ids), insight.c.tenant == tenant)
        async with self._database.read() as connection:
            found = {row["id"]: Insight(**row) for row in (await connection.execute(query)).mappings()}
        return tuple(found[one] for one in ids if one in found)


def _make_insight(row: RowMapping) -> Insight:
    return Insight(**{name: row[name] for name in Insight.__struct_fields__})


def _parse_cursor(cursor: str) -> int:
    if not cursor.isdecimal() or len(cursor) > MAX_CURSOR_DIGITS:
        raise UsageError(
            "cursor: it is not one that this server gave: leave it out to start from the newest."
        )
    return int(cursor)


def _discussion_not_found(id: str) -> NotFound:
    return NotFound(f"There is no discussion {id!r}.")


MAX_VECTORS = 2000  # vectors that a search looks at, those of the newest insights


class InsightVectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def project_vectors(self, tenant: str, project: str, model: str) -> dict[str, bytes]:
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.model == model)
        query = select(insight.c.id, insight_vector.c.vector).join(insight_vector).where(*mine)
        newest = query.order_by(insight.c.number.desc()).limit(MAX_VECTORS)
        async with self._database.read() as connection:
            return {row.id: row.vector for row in await connection.execute(newest)}

    async def insights_without_vectors(
        self, tenant: str, project: str, model: str, limit: int
    ) -> tuple[Insight, ...]:
        """Return the newest insights that this model has made no vectors of."""
        made = and_(insight_vector.c.insight == insight.c.id, insight_vector.c.model == model)
        query = select(*INSIGHT_COLUMNS).outerjoin(insight_vector, made)
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.insight.is_(None))
        newest = query.where(*mine).order_by(insight.c.number.desc()).limit(limit)
        async with self._database.read() as connection:
            return tuple(Insight(**row) for row in (await connection.execute(newest)).mappings())

    async def add_vectors(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by insight; those whose insight is gone by now are left out."""
        add = self._database.insert_into(insight_vector)
        there = select(insight.c.id).where(insight.c.id.in_(vectors)).with_for_update(read=True)
        async with self._database.write() as connection:
            for found in (await connection.execute(there)).scalars().all():
                new = add.values(insight=found, model=model, vector=vectors[found])
                await connection.execute(new.on_conflict_do_nothing())
