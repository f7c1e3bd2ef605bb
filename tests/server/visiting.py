"""Whoever reads a stream, in ASGI's words, so that a test can wait for what comes and leave when it likes."""

import asyncio
from typing import Any


class Visitor:
    """The other end of a stream, in ASGI's words: what it was sent, and when it leaves."""

    def __init__(self) -> None:
        self.status: int | None = None
        self.came: list[bytes] = []
        self.is_over = False
        self.leaves = asyncio.Event()
        self.something = asyncio.Event()

    async def send(self, message: Any) -> None:
        assert not self.is_over
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            self.is_over = not message["more_body"]
            self.came += [message["body"]] if message["body"] else []
        self.something.set()

    async def receive(self) -> Any:
        await self.leaves.wait()
        return {"type": "http.disconnect"}

    async def has(self, words: bytes) -> None:
        """Wait until some words came."""
        while words not in b"".join(self.came):
            self.something.clear()
            await self.something.wait()


def asking_for(path: str, query: str = "") -> Any:
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
