"""Incremental parser for the JSON array of speech and actions that a lesson turn streams."""
