"""Scripted models for demos and tests, with injected faults."""
