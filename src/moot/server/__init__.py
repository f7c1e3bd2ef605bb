"""The HTTP server: routes parse and validate requests, then call services."""
