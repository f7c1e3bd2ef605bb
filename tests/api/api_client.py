"""A client for tests of the API, and a fake provider that records its requests."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from io import BytesIO
from typing import Any

import aiohttp
from aiohttp import web
from msgspec.structs import replace

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.testing.provider_server import FakeProviderServer
from tests.support.advisor_scripts import ADVISOR_SCRIPTS
from tests.support.debate_scripts import DEBATER_SCRIPTS
from tests.support.lesson_scripts import AGENT_SCRIPTS
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS, MootServer

LONG_ANSWER = " ".join(f"word{place}" for place in range(400))
SCRIPTS = {
    **BUILT_IN_SCRIPTS,
    **DEBATER_SCRIPTS,
    **ADVISOR_SCRIPTS,
    **AGENT_SCRIPTS,
    **{
        name: replace(BUILT_IN_SCRIPTS[name], chunk_chars=64)  # fewer pieces are cheaper
        for name in ("teacher", "assistant", "student", "classmate")
    },
    "quick": Script(answer="Round tables."),
    "other": Script(answer="Square tables."),
    "long": Script(answer=LONG_ANSWER, chunk_interval_seconds=0.02),
    "big": Script(answer="x" * 180_000, chunk_chars=4000),
    **dict.fromkeys(("gpt-x", "claude-x", "gemini-x"), Script(answer="I see.")),
    "titler": Script(answer='Title: "Tables, round and square."'),
    **{
        f"shy-{mode}": Script(answer="Here I am.", fault="unauthorized", faulty_calls=1)
        for mode in (
            "again",
            "single",
            "parallel",
            "consensus",
            "debate",
            "advisors",
            "directed",
            "transcript",
        )
    },
    "even": Script(answer="One after the other, and never in a hurry.", chunk_chars=4, chunk_interval_seconds=0.02),
}


class RecordingProviderServer(FakeProviderServer):
    """A fake provider that records request bodies. A model in `held_models` answers once its event is set."""

    def __init__(self) -> None:
        super().__init__(Scripts(SCRIPTS))
        self.request_bodies: list[Any] = []
        self.held_models: dict[str, asyncio.Event] = {}

    def create_app(self) -> web.Application:
        @web.middleware
        async def record(
            request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
        ) -> web.StreamResponse:
            if request.can_read_body:
                body = await request.json()
                self.request_bodies.append(body)
                if held := self.held_models.get(body.get("model")):
                    await held.wait()
            return await handler(request)

        app = super().create_app()
        app.middlewares.append(record)
        return app


class ApiClient:
    """Calls of a Moot server, with access to the fake provider behind it."""

    def __init__(self, server: MootServer, provider_server: RecordingProviderServer) -> None:
        self.server = server
        self.provider_server = provider_server

    async def create_discussion(self, *models: str, message: str = "What is a moot?", **more: Any) -> Any:
        body = {"message": message, "participants": list(models), **more}
        reply = await self.server.post("/api/discussions", body)
        assert reply.status == 201, reply.text
        return reply.body

    async def create_finished_discussion(self, *models: str, **more: Any) -> Any:
        """Create a discussion and wait until its run has ended."""
        opened = await self.create_discussion(*models, **more)
        await self.server.run_events(opened["run"]["id"])
        return opened

    async def send_message(self, discussion: str, message: str, **more: Any) -> Any:
        reply = await self.server.post(f"/api/discussions/{discussion}/messages", {"message": message, **more})
        assert reply.status == 202, reply.text
        return reply.body

    async def update_discussion(self, discussion: str, **changes: Any) -> Any:
        reply = await self.server.call("PATCH", f"/api/discussions/{discussion}", changes)
        assert reply.status == 200, reply.text
        return reply.body

    async def get_discussion(self, discussion: str, query: str = "") -> Any:
        reply = await self.server.get(f"/api/discussions/{discussion}{query}")
        assert reply.status == 200, reply.text
        return reply.body

    async def list_answers(self, discussion: str) -> list[Any]:
        return [m for m in (await self.get_discussion(discussion))["messages"] if m["role"] == "assistant"]

    async def upload_file(self, name: str, data: bytes) -> str:
        form = aiohttp.FormData()
        form.add_field("file", BytesIO(data), filename=name)
        async with self.server.http.post(f"{self.server.url}/api/files", data=form) as response:
            assert response.status == 201, await response.text()
            return str((await response.json())["id"])

    async def get_run(self, id: str) -> Any:
        return (await self.server.get(f"/api/runs/{id}")).body

    async def wait_for_run_end(self, run: str) -> list[Any]:
        """Wait until a run has ended, with all its retries, and return all its events."""
        async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
            while (await self.get_run(run))["status"] in {"waiting", "running"}:
                await asyncio.sleep(0.02)
        return await self.server.run_events(run)

    async def wait_for_text(self, run: str, participant: str = "alpha") -> None:
        """Wait for the first text of a participant."""
        async with aclosing(self.server.events(f"/api/runs/{run}/events")) as frames:
            async for frame in frames:
                if frame.data["type"] == "text_delta" and frame.data["participant"] == participant:
                    return
        raise AssertionError(f"there was no text of {participant}")


def participant_text(events: list[Any], participant: str) -> str:
    """Join the text of one participant; `turn_started` starts it again."""
    text = ""
    for event in events:
        if event.get("participant") == participant:
            match event["type"]:
                case "turn_started":
                    text = ""
                case "text_delta":
                    text += event["text"]
    return text


def ended_turn(events: list[Any], participant: str) -> Any:
    (turn,) = [e for e in events if e["type"] == "turn_ended" and e["participant"] == participant]
    return turn
