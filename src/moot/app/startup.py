"""Answering while the rest is still being loaded: how we stand at once, everything else when it is there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from moot.server import disconnects

App = Callable[[Any, Any, Any], Awaitable[None]]

AT_ONCE = {"/healthz": (200, b"ok"), "/readyz": (503, b"loading")}
HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"retry-after", b"1")]


class Gate:
    """An ASGI app that holds requests until there is an application to serve them."""

    def __init__(self) -> None:
        self._opened: asyncio.Future[App] = asyncio.get_running_loop().create_future()

    def open(self, app: App) -> None:
        self._opened.set_result(app)

    def give_up(self) -> None:
        """Send those who wait away: there will be no application."""
        if not self._opened.done():
            self._opened.set_result(_away)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._opened.done() and (answer := AT_ONCE.get(scope["path"])):
            await _say(send, *answer)
            return
        disconnects.offer(scope, send)
        app = await asyncio.shield(self._opened)
        await app(scope, receive, send)


async def _away(_scope: Any, _receive: Any, send: Any) -> None:
    await _say(send, 503, b"the server could not start")


async def _say(send: Any, status: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": HEADERS})
    await send({"type": "http.response.body", "body": body})
