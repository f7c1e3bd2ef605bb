"""Use cases that the routes, Discord, MCP and the SDK call."""
