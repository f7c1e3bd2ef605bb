"""Plain values that every layer uses. No I/O; imports nothing from the layers above."""
