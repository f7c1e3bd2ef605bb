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


async def test_while_the_rest_is_loaded_it_is_known_how_we_stand() -> None:
    gate = StartupApp()
    assert await send_request(gate, "/healthz") == (200, b"ok")
    assert await send_request(gate, "/readyz") == (503, b"loading")


async def test_everything_else_waits_and_is_answered_when_the_app_is_there() -> None:
    gate = StartupApp()
    waiting = [asyncio.create_task(send_request(gate, f"/{place}")) for place in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    gate.attach_app(app)
    assert [body for _, body in await asyncio.gather(*waiting)] == [
        f"the app at /{place}".encode() for place in range(3)
    ]


async def test_once_it_is_open_the_app_answers_for_itself() -> None:
    gate = StartupApp()
    gate.attach_app(app)
    assert await send_request(gate, "/healthz") == (200, b"the app at /healthz")


async def test_one_who_does_not_wait_takes_nobody_else_along() -> None:
    gate = StartupApp()
    leaves, stays = (asyncio.create_task(send_request(gate, "/x")) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.gather(leaves, return_exceptions=True)
    gate.attach_app(app)
    assert (await stays)[0] == 200


async def test_who_waits_for_a_server_that_cannot_start_is_sent_away() -> None:
    gate, sent = StartupApp(), []

    async def send(message: Any) -> None:
        sent.append(message)

    waiting = asyncio.create_task(gate({"type": "http", "path": "/api/me"}, None, send))
    await asyncio.sleep(0)
    gate.reject_requests()
    await waiting
    assert sent[0]["status"] == 503
