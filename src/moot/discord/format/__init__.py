"""Streamed text to Discord messages: pure functions, no I/O."""
