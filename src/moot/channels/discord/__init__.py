"""Discord: what is said at the table, as messages of a channel."""
