"""Formats streamed text as Discord messages. Pure functions without I/O."""
