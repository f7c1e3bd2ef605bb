"""Consolidations: attempts to find patterns in a project, and the patterns that the completed ones found."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict, replace
from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema import consolidation, pattern, project
from moot.types.errors import NotFound
from moot.types.knowledge import Consolidation, FoundPattern, Pattern
from moot.types.primitives import new_id

LEFT_AFTER = 12 * 60 * 60.0  # seconds; whoever runs longer, slow models and fallbacks and all, has died
LEFT = "The process that worked on it ended before it was done: start it again."

FIELDS = [consolidation.c[name] for name in Consolidation.__struct_fields__ if name != "patterns"]
PATTERN_FIELDS = [pattern.c[name] for name in Pattern.__struct_fields__]


class Consolidations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def start(self, tenant: str, of_project: str, model: str) -> Consolidation:
        new = Consolidation(
            id=new_id("consolidation"),
            project=of_project,
            status="running",
            model=model,
            patterns=(),
            fault=None,
            created_at=time.time(),
            ended_at=None,
        )
        values = {name: value for name, value in asdict(new).items() if name != "patterns"}
        mine = select(project.c.id).where(project.c.id == of_project, project.c.tenant == tenant)
        async with self._database.write() as connection:
            if (await connection.execute(mine)).first() is None:
                raise NotFound(f"There is no project {of_project!r}.")
            await connection.execute(insert(consolidation).values(**values, tenant=tenant))
        return new

    async def complete(
        self, tenant: str, started: Consolidation, model: str, found: Sequence[FoundPattern]
    ) -> Consolidation:
        """Keep the patterns, which count from now on; `model` is who found them in the end."""
        kept = tuple(_pattern(one) for one in found)
        done = replace(started, status="completed", model=model, patterns=kept, ended_at=time.time())
        async with self._database.write() as connection:
            await _close(connection, tenant, done)
            for one in kept:
                values = {**asdict(one), "tenant": tenant, "consolidation": started.id}
                await connection.execute(insert(pattern).values(**values))
        return replace(done, patterns=_frequent_first(kept))

    async def fail(self, tenant: str, started: Consolidation, words: str) -> None:
        async with self._database.write() as connection:
            await _close(
                connection, tenant, replace(started, status="failed", fault=words, ended_at=time.time())
            )

    async def newest(self, tenant: str, project: str) -> Consolidation | None:
        """Return the last attempt, whatever became of it."""
        async with self._database.read() as connection:
            return await _newest(connection, tenant, project)

    async def newest_completed(self, tenant: str, project: str) -> Consolidation | None:
        async with self._database.read() as connection:
            return await _newest(connection, tenant, project, consolidation.c.status == "completed")


async def completed_patterns(connection: AsyncConnection, tenant: str, project: str) -> tuple[Pattern, ...]:
    """Return the patterns of the newest completed consolidation, most frequent first."""
    found = await _newest(connection, tenant, project, consolidation.c.status == "completed")
    return found.patterns if found else ()


async def _newest(
    connection: AsyncConnection, tenant: str, of_project: str, *conditions: ColumnElement[bool]
) -> Consolidation | None:
    mine = (consolidation.c.project == of_project, consolidation.c.tenant == tenant, *conditions)
    query = select(*FIELDS).where(*mine).order_by(consolidation.c.id.desc()).limit(1)
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        return None
    rows = await connection.execute(select(*PATTERN_FIELDS).where(pattern.c.consolidation == row["id"]))
    patterns = tuple(Pattern(**found) for found in rows.mappings())
    return _as_of(time.time(), Consolidation(**row, patterns=_frequent_first(patterns)))


async def _close(connection: AsyncConnection, tenant: str, done: Consolidation) -> None:
    mine = (
        consolidation.c.id == done.id,
        consolidation.c.tenant == tenant,
        consolidation.c.status == "running",
    )
    ended = {"status": done.status, "model": done.model, "fault": done.fault, "ended_at": done.ended_at}
    if not (await connection.execute(update(consolidation).where(*mine).values(**ended))).rowcount:
        raise NotFound(f"The project {done.project!r} is gone.")


def _as_of(now: float, found: Consolidation) -> Consolidation:
    """Tell one that is running from one that was left."""
    if found.status == "running" and found.created_at + LEFT_AFTER < now:
        return replace(found, status="failed", fault=LEFT, ended_at=found.created_at + LEFT_AFTER)
    return found


def _pattern(found: FoundPattern) -> Pattern:
    severity = found.severity if found.kind == "pain" else None
    return Pattern(**{**asdict(found), "severity": severity}, id=new_id("pattern"))


def _frequent_first(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    return tuple(sorted(patterns, key=lambda one: (-one.frequency, one.title)))
