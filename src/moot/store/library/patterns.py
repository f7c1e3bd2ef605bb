"""Consolidations: attempts to find patterns in the insights of a project, and their results."""

import time
from collections.abc import Sequence

from msgspec.structs import asdict, replace
from sqlalchemy import ColumnElement, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.library import consolidation, pattern, project
from moot.types.errors import NotFound, not_found
from moot.types.knowledge import Consolidation, ExtractedPattern, Pattern
from moot.types.primitives import new_id

# An attempt never takes longer, even with slow models and fallbacks. Its process has died.
ABANDONED_AFTER_SECONDS = 12 * 60 * 60.0
ABANDONED_MESSAGE = "The server stopped before this was done. Start it again."

CONSOLIDATION_COLUMNS = [consolidation.c[name] for name in Consolidation.__struct_fields__ if name != "patterns"]
PATTERN_COLUMNS = [pattern.c[name] for name in Pattern.__struct_fields__]


class Consolidations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def start_consolidation(self, tenant: str, project_id: str, model: str) -> Consolidation:
        new = Consolidation(
            id=new_id("consolidation"),
            project=project_id,
            status="running",
            model=model,
            patterns=(),
            fault=None,
            created_at=time.time(),
            ended_at=None,
        )
        values = {name: value for name, value in asdict(new).items() if name != "patterns"}
        mine = select(project.c.id).where(project.c.id == project_id, project.c.tenant == tenant)
        async with self._database.write() as connection:
            if (await connection.execute(mine)).first() is None:
                raise not_found("project", project_id)
            await connection.execute(insert(consolidation).values(**values, tenant=tenant))
        return new

    async def complete_consolidation(
        self, tenant: str, attempt: Consolidation, model: str, patterns: Sequence[ExtractedPattern]
    ) -> Consolidation:
        """Store the patterns. `model` found them; it may be a fallback. Raises NotFound if the project is deleted."""
        stored = tuple(_make_pattern(one) for one in patterns)
        done = replace(attempt, status="completed", model=model, patterns=stored, ended_at=time.time())
        async with self._database.write() as connection:
            await _finish_attempt(connection, tenant, done)
            for one in stored:
                values = {**asdict(one), "tenant": tenant, "consolidation": attempt.id}
                await connection.execute(insert(pattern).values(**values))
        return replace(done, patterns=_sort_by_frequency(stored))

    async def fail_consolidation(self, tenant: str, attempt: Consolidation, fault: str) -> None:
        async with self._database.write() as connection:
            await _finish_attempt(
                connection, tenant, replace(attempt, status="failed", fault=fault, ended_at=time.time())
            )

    async def newest_consolidation(self, tenant: str, project: str) -> Consolidation | None:
        """Return the last attempt with any status; None if there is none."""
        async with self._database.read() as connection:
            return await _load_newest(connection, tenant, project)

    async def newest_completed_consolidation(self, tenant: str, project: str) -> Consolidation | None:
        async with self._database.read() as connection:
            return await _load_newest(connection, tenant, project, consolidation.c.status == "completed")


async def load_completed_patterns(connection: AsyncConnection, tenant: str, project: str) -> tuple[Pattern, ...]:
    """Return the patterns of the newest completed consolidation, most frequent first."""
    found = await _load_newest(connection, tenant, project, consolidation.c.status == "completed")
    return found.patterns if found else ()


async def _load_newest(
    connection: AsyncConnection, tenant: str, project_id: str, *conditions: ColumnElement[bool]
) -> Consolidation | None:
    mine = (consolidation.c.project == project_id, consolidation.c.tenant == tenant, *conditions)
    query = select(*CONSOLIDATION_COLUMNS).where(*mine).order_by(consolidation.c.id.desc()).limit(1)
    row = (await connection.execute(query)).mappings().first()
    if row is None:
        return None
    rows = await connection.execute(select(*PATTERN_COLUMNS).where(pattern.c.consolidation == row["id"]))
    patterns = tuple(Pattern(**found) for found in rows.mappings())
    return _fail_if_abandoned(time.time(), Consolidation(**row, patterns=_sort_by_frequency(patterns)))


async def _finish_attempt(connection: AsyncConnection, tenant: str, attempt: Consolidation) -> None:
    mine = (consolidation.c.id == attempt.id, consolidation.c.tenant == tenant, consolidation.c.status == "running")
    ended = {"status": attempt.status, "model": attempt.model, "fault": attempt.fault, "ended_at": attempt.ended_at}
    if not (await connection.execute(update(consolidation).where(*mine).values(**ended))).rowcount:
        raise NotFound(f"The project {attempt.project!r} was deleted.")


def _fail_if_abandoned(now: float, attempt: Consolidation) -> Consolidation:
    """Return an attempt of a dead process as failed. The row stays unchanged."""
    if attempt.status == "running" and attempt.created_at + ABANDONED_AFTER_SECONDS < now:
        return replace(
            attempt, status="failed", fault=ABANDONED_MESSAGE, ended_at=attempt.created_at + ABANDONED_AFTER_SECONDS
        )
    return attempt


def _make_pattern(found: ExtractedPattern) -> Pattern:
    severity = found.severity if found.kind == "pain" else None
    return Pattern(**{**asdict(found), "severity": severity}, id=new_id("pattern"))


def _sort_by_frequency(patterns: tuple[Pattern, ...]) -> tuple[Pattern, ...]:
    return tuple(sorted(patterns, key=lambda one: (-one.frequency, one.title)))
