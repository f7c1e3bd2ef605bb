"""Event log writer, fan-out of events, and subscriptions."""
