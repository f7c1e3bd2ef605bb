"""Whoever reads a stream, in ASGI's words, so that a test can wait for what comes and leave when it likes."""

import asyncio
from typing import Any


class AsgiClient:
    """The other end of a stream, in ASGI's words: what it was sent, and when it leaves."""

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
        """Wait until some words came."""
        while expected not in b"".join(self.received_bodies):
            self.message_received.clear()
            await self.message_received.wait()


def http_scope(path: str, query: str = "") -> Any:
    """What uvicorn tells of a request from this machine."""
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
