"""Answering while the rest is still being loaded: whether we live at once, everything else when it is there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

App = Callable[[Any, Any, Any], Awaitable[None]]


class Gate:
    """An ASGI app that holds requests until there is an application to serve them."""

    def __init__(self) -> None:
        self._opened: asyncio.Future[App] = asyncio.get_running_loop().create_future()

    def open(self, app: App) -> None:
        self._opened.set_result(app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._opened.done() and scope.get("path") == "/healthz":
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
            )
            await send({"type": "http.response.body", "body": b"ok"})
            return
        app = await asyncio.shield(self._opened)
        await app(scope, receive, send)
