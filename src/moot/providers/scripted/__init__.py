"""Scripted models: demos, tests and faults."""
