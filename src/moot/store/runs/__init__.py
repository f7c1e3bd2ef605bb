"""Stores runs and their event log, retries, approvals and workers."""
