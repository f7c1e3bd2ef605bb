"""Answering while the rest is still being loaded: how we stand at once, everything else when it is there."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from moot.server import disconnects

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]

HEALTH_RESPONSES = {"/healthz": (200, b"ok"), "/readyz": (503, b"loading")}
RESPONSE_HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"retry-after", b"1")]


class StartupApp:
    """An ASGI app that holds requests until there is an application to serve them."""

    def __init__(self) -> None:
        self._app_future: asyncio.Future[AsgiApp] = asyncio.get_running_loop().create_future()

    def attach_app(self, app: AsgiApp) -> None:
        self._app_future.set_result(app)

    def reject_requests(self) -> None:
        """Send those who wait away: there will be no application."""
        if not self._app_future.done():
            self._app_future.set_result(_unavailable_app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._app_future.done() and (answer := HEALTH_RESPONSES.get(scope["path"])):
            await _send_response(send, *answer)
            return
        disconnects.add_abort_extension(scope, send)
        app = await asyncio.shield(self._app_future)
        await app(scope, receive, send)


async def _unavailable_app(_scope: Any, _receive: Any, send: Any) -> None:
    await _send_response(send, 503, b"the server could not start")


async def _send_response(send: Any, status: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": RESPONSE_HEADERS})
    await send({"type": "http.response.body", "body": body})
