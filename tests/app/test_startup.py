import asyncio
from typing import Any

from moot.app.startup import StartupApp


async def send_request(startup_app: StartupApp, path: str) -> Any:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await startup_app({"type": "http", "path": path}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent)


async def app(scope: Any, _: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": f"the app at {scope['path']}".encode()})


async def test_startup_app_answers_health_checks_while_loading() -> None:
    gate = StartupApp()
    assert await send_request(gate, "/healthz") == (200, b"ok")
    assert await send_request(gate, "/readyz") == (503, b"loading")


async def test_startup_app_holds_requests_until_app_is_attached() -> None:
    gate = StartupApp()
    waiting = [asyncio.create_task(send_request(gate, f"/{place}")) for place in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    gate.attach_app(app)
    assert [body for _, body in await asyncio.gather(*waiting)] == [
        f"the app at /{place}".encode() for place in range(3)
    ]


async def test_startup_app_forwards_health_checks_after_attach() -> None:
    gate = StartupApp()
    gate.attach_app(app)
    assert await send_request(gate, "/healthz") == (200, b"the app at /healthz")


async def test_cancelled_request_does_not_affect_waiting_requests() -> None:
    gate = StartupApp()
    leaves, stays = (asyncio.create_task(send_request(gate, "/x")) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.gather(leaves, return_exceptions=True)
    gate.attach_app(app)
    assert (await stays)[0] == 200


async def test_reject_requests_answers_waiting_requests_with_503() -> None:
    gate, sent = StartupApp(), []

    async def send(message: Any) -> None:
        sent.append(message)

    waiting = asyncio.create_task(gate({"type": "http", "path": "/api/me"}, None, send))
    await asyncio.sleep(0)
    gate.reject_requests()
    await waiting
    assert sent[0]["status"] == 503
