"""Presets of a tenant: saved participants, mode and options."""

from msgspec.structs import asdict
from sqlalchemy import delete, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.store.database import Database
from moot.store.schema.library import preset
from moot.types.errors import Conflict, not_found
from moot.types.presets import Preset, PresetPage

PRESET_COLUMNS = [preset.c[name] for name in Preset.__struct_fields__]


class Presets:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def get_preset(self, tenant: str, id: str) -> Preset:
        async with self._database.read() as connection:
            return await _load_preset(connection, tenant, id)

    async def list_presets(self, tenant: str, *, cursor: str | None = None, limit: int = 50) -> PresetPage:
        query = select(*PRESET_COLUMNS).where(preset.c.tenant == tenant)
        return PresetPage(*await self._database.fetch_page(Preset, query, preset.c.id, cursor, limit))

    async def find_preset(self, tenant: str, name: str) -> Preset:
        """Find a preset by name or id. Of several with the same name, return the newest. Raises NotFound."""
        meant = (preset.c.tenant == tenant, or_(preset.c.name == name, preset.c.id == name))
        query = select(*PRESET_COLUMNS).where(*meant).order_by(preset.c.id.desc()).limit(1)
        if (found := await self._database.fetch_struct(Preset, query)) is None:
            raise not_found("preset", name)
        return found

    async def add_preset(self, tenant: str, new: Preset) -> None:
        await self._database.execute(insert(preset).values(**asdict(new), tenant=tenant))

    async def update_preset(self, tenant: str, before: Preset, after: Preset) -> None:
        """Raise Conflict if the stored preset does not equal `before` any more."""
        async with self._database.write() as connection:
            if await _load_preset(connection, tenant, before.id, for_update=True) != before:
                raise Conflict("Another request changed this preset at the same time. Load it again.")
            changed = update(preset).where(preset.c.id == before.id).values(**asdict(after))
            await connection.execute(changed)

    async def delete_preset(self, tenant: str, id: str) -> None:
        mine = delete(preset).where(preset.c.id == id, preset.c.tenant == tenant)
        if not await self._database.execute(mine):
            raise not_found("preset", id)


async def _load_preset(connection: AsyncConnection, tenant: str, id: str, *, for_update: bool = False) -> Preset:
    query = select(*PRESET_COLUMNS).where(preset.c.id == id, preset.c.tenant == tenant)
    row = (await connection.execute(query.with_for_update() if for_update else query)).mappings().first()
    if row is None:
        raise not_found("preset", id)
    return Preset(**row)
