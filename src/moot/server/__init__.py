"""The HTTP API: routes that parse and validate, and call the services."""
