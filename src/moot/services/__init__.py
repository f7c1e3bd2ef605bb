"""The use cases of Moot. HTTP routes, the Discord bot, MCP and the SDK call them."""
