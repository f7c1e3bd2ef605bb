"""Column types and helpers that all tables share, and their metadata."""

from typing import Any

import msgspec
from sqlalchemy import BigInteger, Column, Dialect, Float, ForeignKey, Integer, MetaData, Text, TypeDecorator


class Json(TypeDecorator[Any]):
    """A column that stores a value as JSON text and validates its type when it is read."""

    impl = Text
    cache_ok = True

    def __init__(self, type_: Any) -> None:
        super().__init__()
        self.type_ = type_
        self._decode = msgspec.json.Decoder(type_).decode

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002 - SQLAlchemy's
        return None if value is None else msgspec.json.encode(value).decode()

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 - SQLAlchemy's
        return None if value is None else self._decode(value)

    def coerce_compared_value(self, op: object, value: object) -> Any:  # noqa: ARG002 - SQLAlchemy's
        return self.impl


Strings = tuple[str, ...]
Number = BigInteger().with_variant(Integer, "sqlite")  # SQLite autoincrements only INTEGER columns

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def id_column() -> Column[str]:
    return Column("id", Text, primary_key=True)


def sequence_columns() -> tuple[Column[int], Column[str]]:
    """Return the public `id`, and a `seq` that orders rows and keys the full-text index."""
    return (
        Column("seq", Number, primary_key=True, autoincrement=True),
        Column("id", Text, nullable=False, unique=True),
    )


def foreign_key(table: str, *, nullable: bool = False, on_delete: str = "CASCADE", name: str = "") -> Column[str]:
    """Reference a row of another table. Deleting that row deletes this one, or with SET NULL clears the column."""
    return Column(name or table, Text, ForeignKey(f"{table}.id", ondelete=on_delete), nullable=nullable)


def tenant_column() -> Column[str]:
    return foreign_key("tenant")


def text_column(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default="")


def time_column(name: str = "created_at", *, nullable: bool = False) -> Column[float]:
    return Column(name, Float(53), nullable=nullable)
