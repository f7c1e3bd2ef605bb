"""Personas of a tenant, shipped personas, and their usage counts."""

import time
from collections.abc import Sequence
from typing import Any

from msgspec import to_builtins
from msgspec.structs import asdict, replace
from sqlalchemy import RowMapping, delete, func, insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database, paginate
from moot.store.schema.library import persona, persona_usage
from moot.types.errors import Forbidden, UsageError, not_found
from moot.types.personas import Persona, PersonaChange, PersonaDraft, PersonaPage, level_for_uses
from moot.types.primitives import new_id

OWN_PERSONAS = select(
    persona,
    func.coalesce(persona_usage.c.uses, 0).label("uses"),
    func.coalesce(persona_usage.c.completed, 0).label("completed"),
).outerjoin(persona_usage, (persona_usage.c.persona == persona.c.id) & (persona_usage.c.tenant == persona.c.tenant))


class Personas:
    def __init__(self, database: Database, builtin: Sequence[Persona]) -> None:
        self._database = database
        self._shipped = {one.id: one for one in builtin}

    async def get_persona(self, tenant: str, id: str) -> Persona:
        async with self._database.read() as connection:
            return await self._load_persona(connection, tenant, id)

    async def list_personas(self, tenant: str, *, cursor: str | None = None, limit: int = 50) -> PersonaPage:
        """Return a page by descending id: shipped personas first, then those of the tenant, newest first."""
        query = OWN_PERSONAS.where(persona.c.tenant == tenant)
        if cursor is not None:
            query = query.where(persona.c.id < cursor)
        query = query.order_by(persona.c.id.desc()).limit(limit + 1)
        async with self._database.read() as connection:
            own = [_make_persona(row) for row in (await connection.execute(query)).mappings()]
            shipped = [one for one in await self._load_shipped(connection, tenant) if not cursor or one.id < cursor]
        found = sorted([*shipped, *own], key=lambda one: one.id, reverse=True)
        return PersonaPage(*paginate(found, limit, lambda one: one.id))

    async def persona_names(self, tenant: str) -> list[str]:
        """Return the names of the tenant's personas, newest first, and then of shipped ones."""
        own = select(persona.c.name).where(persona.c.tenant == tenant).order_by(persona.c.id.desc())
        found = await self._database.fetch_values(own)
        return [*found, *(one.name for one in self._shipped.values())]

    async def create_persona(self, tenant: str, draft: PersonaDraft) -> Persona:
        async with self._database.write() as connection:
            return await self._load_persona(connection, tenant, await add_persona(connection, tenant, draft))

    async def update_persona(self, tenant: str, id: str, change: PersonaChange) -> Persona:
        self._reject_if_shipped(id)
        mine = (persona.c.id == id, persona.c.tenant == tenant)
        async with self._database.write() as connection:
            if values := to_builtins(change):
                await connection.execute(update(persona).where(*mine).values(**values))
            changed = await self._load_persona(connection, tenant, id)
            if not (changed.description.strip() or changed.system_prompt.strip()):
                raise UsageError("A persona needs a description or a system_prompt. Keep one of them.")
        return changed

    async def delete_persona(self, tenant: str, id: str) -> None:
        self._reject_if_shipped(id)
        async with self._database.write() as connection:
            if not await drop_persona(connection, tenant, id):
                raise not_found("persona", id)

    async def count_use(self, tenant: str, persona: str, *, completed: bool) -> None:
        once = {"uses": 1, "completed": int(completed)}
        more = {name: persona_usage.c[name] + value for name, value in once.items()}
        counted = self._database.insert_into(persona_usage).values(tenant=tenant, persona=persona, **once)
        await self._database.execute(counted.on_conflict_do_update(index_elements=["tenant", "persona"], set_=more))

    async def _load_persona(self, connection: AsyncConnection, tenant: str, id: str) -> Persona:
        if id in self._shipped:
            return next(one for one in await self._load_shipped(connection, tenant) if one.id == id)
        mine = OWN_PERSONAS.where(persona.c.id == id, persona.c.tenant == tenant)
        row = (await connection.execute(mine)).mappings().first()
        if row is None:
            raise not_found("persona", id)
        return _make_persona(row)

    async def _load_shipped(self, connection: AsyncConnection, tenant: str) -> list[Persona]:
        """Return shipped personas with the usage counts of this tenant."""
        query = select(persona_usage).where(
            persona_usage.c.tenant == tenant, persona_usage.c.persona.in_(self._shipped)
        )
        used = {row["persona"]: row for row in (await connection.execute(query)).mappings()}
        return [replace(one, **_use_counts(used.get(one.id))) for one in self._shipped.values()]

    def _reject_if_shipped(self, id: str) -> None:
        if id in self._shipped:
            raise Forbidden(f"{id} is a built-in persona and cannot be changed. Create a copy, and change that.")


async def add_persona(connection: AsyncConnection, tenant: str, draft: PersonaDraft) -> str:
    """Return the new id."""
    id = new_id("persona")
    new = insert(persona).values(id=id, tenant=tenant, created_at=time.time(), **asdict(draft))
    await connection.execute(new)
    return id


async def drop_persona(connection: AsyncConnection, tenant: str, id: str) -> bool:
    """Delete a persona and its usage counts. Return whether it existed."""
    mine = delete(persona).where(persona.c.id == id, persona.c.tenant == tenant)
    uses = delete(persona_usage).where(persona_usage.c.persona == id, persona_usage.c.tenant == tenant)
    existed = (await connection.execute(mine)).rowcount > 0
    await connection.execute(uses)
    return existed


def _make_persona(row: RowMapping) -> Persona:
    own = {name: row[name] for name in Persona.__struct_fields__ if name in persona.c}
    return Persona(**own, **_use_counts(row), builtin=False)


def _use_counts(row: RowMapping | None) -> dict[str, Any]:
    uses, completed = (row["uses"], row["completed"]) if row else (0, 0)
    return {"uses": uses, "success_rate": completed / uses if uses else None, "level": level_for_uses(uses)}
