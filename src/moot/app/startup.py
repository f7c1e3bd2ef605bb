"""ASGI app for the startup phase: answers health checks at once, holds other requests.

The server listens before the services are imported, so that clients see no refused connection.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from moot.server.abort import add_abort_extension

AsgiApp = Callable[[Any, Any, Any], Awaitable[None]]

HEALTH_RESPONSES = {"/healthz": (200, b"ok"), "/readyz": (503, b"loading")}
RESPONSE_HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"retry-after", b"1")]


class StartupApp:
    """Holds requests until `attach_app` or `reject_requests` is called."""

    def __init__(self) -> None:
        self._app_future: asyncio.Future[AsgiApp] = asyncio.get_running_loop().create_future()

    def attach_app(self, app: AsgiApp) -> None:
        self._app_future.set_result(app)

    def reject_requests(self) -> None:
        """Answer held requests with 503, because startup failed. No effect after `attach_app`."""
        if not self._app_future.done():
            self._app_future.set_result(_unavailable_app)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if not self._app_future.done() and (response := HEALTH_RESPONSES.get(scope["path"])):
            await _send_response(send, *response)
            return
        add_abort_extension(scope, send)
        app = await asyncio.shield(self._app_future)
        await app(scope, receive, send)


async def _unavailable_app(_scope: Any, _receive: Any, send: Any) -> None:
    await _send_response(send, 503, b"the server could not start")


async def _send_response(send: Any, status: int, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": RESPONSE_HEADERS})
    await send({"type": "http.response.body", "body": body})
