"""Tool servers: the interface, a fake, and MCP clients."""
