"""A Discord of one's own: one server with a few channels, over real HTTP and WebSocket, in which faults can be made."""
