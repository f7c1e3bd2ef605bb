"""The first schema: every table, and the indexes that search text."""

from alembic import op

from moot.store.schema import metadata

revision = "0001"
down_revision = None

POSTGRES = (
    "CREATE INDEX ix_discussion_search ON discussion USING gin (to_tsvector('simple', title))",
    "CREATE INDEX ix_message_search ON message USING gin (to_tsvector('simple', left(content, 100000)))",
    "CREATE INDEX ix_insight_search ON insight USING gin (to_tsvector('simple', title || ' ' || detail || ' ' || coalesce(suggestion, '')))",
)
SEARCHED = {
    "discussion": ("title",),
    "message": ("content",),
    "insight": ("title", "detail", "suggestion"),
}


def sqlite_search(table: str, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Index columns of a table, and keep the index up to date by triggers."""
    names = ", ".join(columns)
    old, new = (", ".join(f"{row}.{column}" for column in columns) for row in ("old", "new"))
    forget = (
        f"INSERT INTO {table}_search({table}_search, rowid, {names}) VALUES ('delete', old.number, {old});"  # noqa: S608 - names of our own
    )
    add = f"INSERT INTO {table}_search(rowid, {names}) VALUES (new.number, {new});"  # noqa: S608
    return (
        f"CREATE VIRTUAL TABLE {table}_search USING fts5({names}, content='{table}', content_rowid='number')",
        f"CREATE TRIGGER {table}_search_added AFTER INSERT ON {table} BEGIN {add} END",
        f"CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table} BEGIN {forget} END",
        f"CREATE TRIGGER {table}_search_changed AFTER UPDATE OF {names} ON {table} BEGIN {forget} {add} END",
    )


def upgrade() -> None:
    metadata.create_all(op.get_bind())
    if op.get_bind().dialect.name == "postgresql":
        for statement in POSTGRES:
            op.execute(statement)
        return
    for table, columns in SEARCHED.items():
        for statement in sqlite_search(table, columns):
            op.execute(statement)
