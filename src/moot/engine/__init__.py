"""Runs: who is asked, what is retried, and the log of events that readers follow."""
