"""The MCP server: Moot's tools for MCP clients."""
