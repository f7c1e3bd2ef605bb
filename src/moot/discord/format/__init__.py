"""Formatter from streamed Markdown to Discord messages. Does no I/O."""
