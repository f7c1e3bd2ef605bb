"""The life of a run: start, execution, recovery, end."""
