"""Start, execute, recover and end a run."""
