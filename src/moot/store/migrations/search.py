"""Full-text indexes of SQLite, for the migrations that create or drop them."""

from collections.abc import Iterator

SEARCHED = {"discussion": ("title",), "message": ("content",), "insight": ("title", "detail", "suggestion")}


def sqlite_search_statements(row_key: str) -> Iterator[str]:
    """Index the searched columns, and keep the indexes up to date by triggers. `row_key` is the integer primary key."""
    for table, columns in SEARCHED.items():
        names = ", ".join(columns)
        old, new = (", ".join(f"{row}.{column}" for column in (row_key, *columns)) for row in ("old", "new"))
        remove = f"INSERT INTO {table}_search({table}_search, rowid, {names}) VALUES ('delete', {old});"  # noqa: S608 - constant names
        add = f"INSERT INTO {table}_search(rowid, {names}) VALUES ({new});"  # noqa: S608
        yield f"CREATE VIRTUAL TABLE {table}_search USING fts5({names}, content='{table}', content_rowid='{row_key}')"
        yield f"CREATE TRIGGER {table}_search_added AFTER INSERT ON {table} BEGIN {add} END"
        yield f"CREATE TRIGGER {table}_search_gone AFTER DELETE ON {table} BEGIN {remove} END"
        yield f"CREATE TRIGGER {table}_search_changed AFTER UPDATE OF {names} ON {table} BEGIN {remove} {add} END"
