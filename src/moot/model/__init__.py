"""Pure values that every other part speaks in; nothing here does I/O or imports from above."""
