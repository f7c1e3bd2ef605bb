"""Tables, queries and migrations: the same schema on SQLite and on Postgres."""
