"""Run lifecycle: start, execution, retry, recovery after a crash, end."""
