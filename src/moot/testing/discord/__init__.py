"""A fake Discord over real HTTP and WebSocket, with faults and rate limits."""
