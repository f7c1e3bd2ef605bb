"""Composition root and process lifecycle: services, logging, event loop, database lock."""
