"""Migration 0010, which renames tables, columns and JSON keys, on a database that the version before it wrote."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest
import sqlalchemy
from alembic import command
from sqlalchemy import Connection, MetaData, Table, func, insert, select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.search import search_condition
from moot.store.migrate import migrate
from moot.store.schema import metadata
from moot.store.schema.columns import Json
from moot.types.events import Event
from tests.store.schema_comparison import schema_differences
from tests.support.databases import DATABASE_KINDS, DatabaseKind, database_url

FIXTURE = Path(__file__).with_name("fixtures") / "database_0009.json"
MIGRATION = import_module("moot.store.migrations.versions.0010_names_of_the_glossary")
OLD_ROWS: dict[str, list[dict[str, Any]]] = json.loads(FIXTURE.read_text("utf-8"))
JSON_COLUMNS = {"body", "reply"}  # besides the columns of type `Json`
OLD_VALUES = {  # by new word, which has one old word each
    **{new: old for old, (new, _) in MIGRATION.EVENTS.items()},
    **{
        new: old
        for names in (MIGRATION.PURPOSES, MIGRATION.NOTICE_KINDS, MIGRATION.VIEWS, MIGRATION.TASK_MODELS)
        for old, new in names.items()
    },
}


@asynccontextmanager
async def open_old_database(kind: DatabaseKind, folder: Path, patch: pytest.MonkeyPatch) -> AsyncIterator[Database]:
    """Load the fixture into a database of revision 0009."""
    async with database_url(kind, folder) as url, Database(url) as database:
        with patch.context() as older:
            upgrade = command.upgrade
            older.setattr(command, "upgrade", lambda config, _: upgrade(config, "0009"))
            await migrate(database)
        async with database.write() as connection:
            await connection.run_sync(insert_old_rows)
        yield database


def insert_old_rows(connection: Connection) -> None:
    old_schema = MetaData()
    old_schema.reflect(connection, only=list(OLD_ROWS))
    for name, rows in OLD_ROWS.items():
        for row in rows:
            values = {column: read_value(value) for column, value in row.items()}
            connection.execute(insert(old_schema.tables[name]).values(values))


def read_value(value: Any) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(value, dict) else value


def new_name(table: str) -> str:
    return str(MIGRATION.TABLES.get(table, table))


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_schema_after_migration_is_that_of_the_code(
    kind: DatabaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_old_database(kind, tmp_path, monkeypatch) as database:
        await migrate(database)
        async with database.read() as connection:
            assert await connection.run_sync(schema_differences) == []


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_every_row_keeps_its_values(kind: DatabaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names change, values do not: also the values inside of JSON are compared, without their keys."""
    async with open_old_database(kind, tmp_path, monkeypatch) as database:
        await migrate(database)
        assert set(map(new_name, OLD_ROWS)) == set(metadata.tables)
        for old_table, old_rows in OLD_ROWS.items():
            name = new_name(old_table)
            columns = MIGRATION.COLUMNS.get(name, {})
            expected = [
                {columns.get(column, column): read_value(value) for column, value in row.items()} for row in old_rows
            ]
            async with database.read() as connection:
                stored = (await connection.execute(select(text_table(name)))).mappings().all()
            found = [{key: value for key, value in row.items() if value is not None} for row in stored]
            assert comparable_rows(name, found) == comparable_rows(name, expected), name


def text_table(name: str) -> Table:
    """Return the table with JSON columns as text."""
    columns = (
        sqlalchemy.Column(column.name, sqlalchemy.Text if is_json(column) else column.type)
        for column in metadata.tables[name].columns
    )
    return Table(name, MetaData(), *columns)


def is_json(column: Any) -> bool:
    return isinstance(column.type, Json)


def comparable_rows(table: str, rows: list[dict[str, Any]]) -> list[str]:
    as_json = {column.name for column in metadata.tables[table].columns if is_json(column)} | JSON_COLUMNS
    return sorted(
        repr(sorted((column, values_of(value, as_json=column in as_json)) for column, value in row.items()))
        for row in rows
    )


def values_of(value: Any, *, as_json: bool) -> list[str]:
    """Return the scalar values, sorted and in the old words; JSON loses its keys."""
    scalars = json_values(json.loads(value)) if as_json and value else [value]
    return sorted(repr(OLD_VALUES.get(one, one)) for one in scalars)


def json_values(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            for one in value.values():
                yield from json_values(one)
        case list():
            for one in value:
                yield from json_values(one)
        case _:
            yield value


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_converted_json_has_no_unknown_key(
    kind: DatabaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Encoding what was decoded gives the stored JSON again: a key that the types do not know would be missing."""
    async with open_old_database(kind, tmp_path, monkeypatch) as database:
        await migrate(database)
        async with database.read() as connection:
            for name in ("run_event", "analysis_result"):
                table = metadata.tables[name]
                for body in (await connection.execute(select(table.c.body))).scalars():
                    event = msgspec.json.decode(body, type=Event)
                    assert json.loads(msgspec.json.encode(event)) == json.loads(body)
            checked = 0
            for table in metadata.sorted_tables:
                for column in filter(is_json, table.columns):
                    decoded = (await connection.execute(select(column).where(column.is_not(None)))).scalars().all()
                    text_column = raw_text_column(table.name, column.name)
                    texts = (await connection.execute(select(text_column).where(text_column.is_not(None)))).scalars()
                    for value, text in zip(decoded, texts, strict=True):
                        assert json.loads(msgspec.json.encode(value)) == json.loads(text), (table.name, column.name)
                        checked += 1
            assert checked > 200


def raw_text_column(table: str, column: str) -> Any:
    return sqlalchemy.table(table, sqlalchemy.column(column, sqlalchemy.Text)).c[column]


@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_migrated_messages_are_read_and_found(
    kind: DatabaseKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_old_database(kind, tmp_path, monkeypatch) as database:
        await migrate(database)
        async with database.read() as connection:
            count = select(func.count()).select_from(metadata.tables["message"])
            assert (await connection.execute(count)).scalar() == len(OLD_ROWS["message"])
        old = OLD_ROWS["message"][0]
        discussion = await Discussions(database).get_discussion(old["tenant"], old["discussion"])
        assert discussion.id == old["discussion"]
        message = metadata.tables["message"]
        word = max(old["content"].split(), key=len).strip("?.,:")
        async with database.read() as connection:
            hits = await connection.execute(select(message.c.id).where(search_condition(database, message, word)))
            assert old["id"] in hits.scalars().all()
