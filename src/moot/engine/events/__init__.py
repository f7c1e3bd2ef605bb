"""The event log: write, fan out, subscribe."""
