"""Writes the event log, fans events out, and serves subscribers."""
