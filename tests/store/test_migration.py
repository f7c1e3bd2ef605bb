import asyncio
from pathlib import Path

import pytest
from sqlalchemy import Connection, inspect, text

from moot.store.database import Database
from moot.store.migration import migrate
from moot.store.schema import metadata
from tests.databases import KINDS, Kind, database_url


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


@pytest.mark.parametrize("kind", KINDS)
async def test_two_that_start_at_once_make_one_schema(kind: Kind, tmp_path: Path) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as one, Database(url) as other:
        await asyncio.gather(migrate(one), migrate(other))
        async with one.read() as connection:
            assert set(metadata.tables) <= await connection.run_sync(tables)
            assert (await connection.execute(text("SELECT version_num FROM alembic_version"))).all() == [
                ("0001",)
            ]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_migration_that_dies_half_way_leaves_nothing(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with database_url(kind, tmp_path) as url, Database(url) as database:
        with monkeypatch.context() as patch:
            patch.setattr("alembic.operations.Operations.execute", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await migrate(database)
        async with database.read() as connection:
            assert not set(metadata.tables) & await connection.run_sync(tables)
        await migrate(database)
        async with database.read() as connection:
            assert set(metadata.tables) <= await connection.run_sync(tables)
