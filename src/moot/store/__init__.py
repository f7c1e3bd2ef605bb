"""Database access: schema, queries and migrations for SQLite and Postgres."""
