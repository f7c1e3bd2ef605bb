"""An ASGI client that waits for parts of a stream and can disconnect at any time."""

import asyncio
from typing import Any


class AsgiClient:
    """Records what an ASGI app sends, and disconnects when `disconnected` is set."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.received_bodies: list[bytes] = []
        self.response_finished = False
        self.disconnected = asyncio.Event()
        self.message_received = asyncio.Event()

    async def send(self, message: Any) -> None:
        assert not self.response_finished
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.response_finished = not message["more_body"]
            self.received_bodies += [message["body"]] if message["body"] else []
        self.message_received.set()

    async def receive(self) -> Any:
        await self.disconnected.wait()
        return {"type": "http.disconnect"}

    async def wait_for(self, expected: bytes) -> None:
        """Wait until the body contains these bytes."""
        while expected not in b"".join(self.received_bodies):
            self.message_received.clear()
            await self.message_received.wait()


def http_scope(path: str, query: str = "") -> Any:
    """The scope that uvicorn makes for a request from this machine."""
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": [(b"host", b"localhost")],
        "http_version": "1.1",
        "scheme": "http",
        "server": ("localhost", 80),
        "client": ("127.0.0.1", 1),
        "root_path": "",
    }
