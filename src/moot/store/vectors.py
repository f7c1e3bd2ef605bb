"""Vectors of insights, as an embedding model made them; what they mean is not known here."""

from collections.abc import Mapping

from sqlalchemy import and_, select

from moot.model.knowledge import Insight
from moot.store.database import Database
from moot.store.insights import FIELDS
from moot.store.schema import insight, insight_vector

MOST = 2000  # vectors that a search looks at, those of the newest insights


class Vectors:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def of_project(self, tenant: str, project: str, model: str) -> dict[str, bytes]:
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.model == model)
        query = select(insight.c.id, insight_vector.c.vector).join(insight_vector).where(*mine)
        newest = query.order_by(insight.c.number.desc()).limit(MOST)
        async with self._database.read() as connection:
            return {row.id: row.vector for row in await connection.execute(newest)}

    async def missing(self, tenant: str, project: str, model: str, limit: int) -> tuple[Insight, ...]:
        """Return the newest insights that this model has made no vectors of."""
        made = and_(insight_vector.c.insight == insight.c.id, insight_vector.c.model == model)
        query = select(*FIELDS).outerjoin(insight_vector, made)
        mine = (insight.c.project == project, insight.c.tenant == tenant, insight_vector.c.insight.is_(None))
        newest = query.where(*mine).order_by(insight.c.number.desc()).limit(limit)
        async with self._database.read() as connection:
            return tuple(Insight(**row) for row in (await connection.execute(newest)).mappings())

    async def add(self, model: str, vectors: Mapping[str, bytes]) -> None:
        """Keep vectors by insight; those whose insight is gone by now are left out."""
        add = self._database.insert(insight_vector)
        there = select(insight.c.id).where(insight.c.id.in_(vectors)).with_for_update(read=True)
        async with self._database.write() as connection:
            for found in (await connection.execute(there)).scalars().all():
                new = add.values(insight=found, model=model, vector=vectors[found])
                await connection.execute(new.on_conflict_do_nothing())
