"""Runs, their event log, retries, approvals and workers."""
