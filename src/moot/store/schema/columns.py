"""Column types and helpers that all tables share, and their metadata."""

from typing import Any

import msgspec
from sqlalchemy import BigInteger, Column, Dialect, Float, ForeignKey, Integer, MetaData, Text, TypeDecorator

from moot.types.modes import MODES


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


def key_column(name: str = "id") -> Column[str]:
    return Column(name, Text, primary_key=True)


def sequence_columns() -> tuple[Column[int], Column[str]]:
    """Return the public `id`, and a `seq` that orders rows and keys the full-text index."""
    return (
        Column("seq", Number, primary_key=True, autoincrement=True),
        Column("id", Text, nullable=False, unique=True),
    )


def foreign_key(
    table: str, *, nullable: bool = False, primary_key: bool = False, on_delete: str = "CASCADE"
) -> Column[str]:
    """Reference a row of another table. Deleting that row deletes this one, or with SET NULL clears the column."""
    reference = ForeignKey(f"{table}.id", ondelete=on_delete)
    return Column(table, Text, reference, nullable=nullable, primary_key=primary_key)


def text_columns(*names: str, nullable: bool = False, default: str | None = None) -> list[Column[str]]:
    return [Column(name, Text, nullable=nullable, server_default=default) for name in names]


def mode_option_columns() -> list[Column[Any]]:
    return [Column(mode, Json(spec.options), nullable=True) for mode, spec in MODES.items() if spec.options]


def time_column(name: str = "created_at", *, nullable: bool = False) -> Column[float]:
    return Column(name, Float(53), nullable=nullable)
