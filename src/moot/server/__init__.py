"""The HTTP API: routes that parse and check, and hand values to the engine."""
