"""Requests in the form of OpenAI clients, and helpers that read the replies."""

import asyncio
from typing import Any

import msgspec
from sqlalchemy import select

from moot.store.database import Database
from moot.store.schema.billing import charge
from tests.server.asgi_client import AsgiClient, http_scope

COMPLETIONS_PATH = "/v1/chat/completions"


def completion_body(model: str = "scripted/echo", text: str = "Why?", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def parse_frames(text: str) -> list[Any]:
    """Return the decoded data of all frames. The frame [DONE] stays a string."""
    data = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    return [one if one == "[DONE]" else msgspec.json.decode(one) for one in data]


def delta_text(frames: list[Any], field: str = "content") -> str:
    deltas = [choice["delta"] for frame in frames if isinstance(frame, dict) for choice in frame.get("choices", ())]
    return "".join(delta.get(field) or "" for delta in deltas)


class CompletionClient(AsgiClient):
    """Sends one request, and reads until it disconnects."""

    def __init__(self, request_body: object) -> None:
        super().__init__()
        self._body = [msgspec.json.encode(request_body)]

    async def receive(self) -> Any:
        if self._body:
            return {"type": "http.request", "body": self._body.pop(), "more_body": False}
        return await super().receive()

    def start_request(self, app: Any) -> "asyncio.Task[None]":
        scope = http_scope(COMPLETIONS_PATH)
        scope |= {"method": "POST", "headers": [*scope["headers"], (b"content-type", b"application/json")]}
        return asyncio.create_task(app(scope, self.receive, self.send))


async def count_charges(database: Database) -> int:
    async with database.read() as connection:
        return len((await connection.execute(select(charge.c.id))).all())
