"""Incremental parser for the JSON array of speech and actions in the stream of a lesson turn."""
