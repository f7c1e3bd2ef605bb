"""Executes runs: event log, turns, tools, cost, recovery."""
