"""Moot as an MCP server."""
