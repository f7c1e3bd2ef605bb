"""Tool servers: the Toolbox protocol, MCP clients, and a fake server for tests."""
