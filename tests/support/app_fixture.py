"""The whole application on a database, without an executor: runs are accepted, and wait."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch

import msgspec
from httpx import ASGITransport, AsyncClient, Response

from moot.app import lifecycle
from moot.app.lifecycle import Worker
from moot.providers.registry import Registry
from moot.settings import RateSettings, Settings
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.runs.event_log import EventLogEntry, RunEnding, RunRecords
from moot.store.runs.runs import WorkerRegistry
from moot.types.discussions import Message
from moot.types.events import Event, RunEnded, RunStarted, RunStatus, TextDelta
from moot.types.primitives import new_id
from tests.support.app_pool import pooled_app_factory
from tests.support.stores import ENCRYPTION_SECRET

UNLIMITED_SETTINGS = Settings(rates=RateSettings(messages_per_minute=1_000_000, debates_per_minute=1_000_000))
NEW_DISCUSSION_BODY = {"message": "What is a moot?", "participants": ["scripted/echo", "scripted/steady"]}


class LocalApp:
    def __init__(self, worker: Worker, app: Any, client: AsyncClient, started_runs: list[str]) -> None:
        self.worker = worker
        self.services = worker.services
        self.app = app
        self.client = client
        self.started_runs = started_runs

    async def call(self, method: str, path: str, body: object = None, **headers: str) -> Response:
        return await self.client.request(method, path, json=body, headers=headers)

    async def call_ok(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        response = await self.call(method, path, body, **headers)
        assert response.is_success, response.text
        return response.json() if response.content else None

    async def create_discussion(self, **more: Any) -> Any:
        return await self.call_ok("POST", "/api/discussions", NEW_DISCUSSION_BODY | more)

    async def record_answer(self, run: str, *words: str, status: RunStatus | None = "completed") -> None:
        """Write an answer of Alpha to a run that waits, and end the run unless `status` is None."""
        lease = await self.services.runs.acquire_lease(run, self.worker.id)
        assert lease is not None
        events: list[Event] = [
            RunStarted(participants=lease.plan.participants),
            *(TextDelta(participant="alpha", stage="answer", round=0, text=word) for word in words),
        ]
        message = Message(
            id=new_id("msg"),
            discussion=lease.discussion,
            run=run,
            role="assistant",
            content="".join(words),
            participant="alpha",
            name="Alpha",
            stage="answer",
            view="blind",
            created_at=time.time(),
        )
        if status is not None:
            events.append(RunEnded(status=status))
        entry = EventLogEntry(
            lease,
            lease.seq + 1,
            _encode_events(events, lease.run, lease.seq + 1),
            RunRecords([message]) if status is not None else None,
            RunEnding(status, time.time()) if status is not None else None,
        )
        await self.services.events.write_entries([entry])
        self.services.event_hub.publish(run, entry.first_seq, entry.bodies)


def _encode_events(events: Sequence[Event], run: str, first: int) -> list[str]:
    numbered = (msgspec.structs.replace(event, run=run, seq=seq) for seq, event in enumerate(events, first))
    return [msgspec.json.encode(event).decode() for event in numbered]


async def build_idle_worker(database: Database, registry: Registry, settings: Settings | None = None) -> Worker:
    """Build a worker that is not started."""
    worker = Worker(settings or UNLIMITED_SETTINGS, database, registry, Encryptor(ENCRYPTION_SECRET))
    worker.services.discussion_service._start = lambda _: None
    if database.is_postgres:
        await WorkerRegistry(database).register(worker.id)
    return worker


@asynccontextmanager
async def create_local_app(database: Database) -> AsyncIterator[LocalApp]:
    started: list[str] = []
    async with Registry({}, {}) as registry:
        worker = await build_idle_worker(database, registry)
        worker.services.discussion_service._start = started.append
        with pooled_app_factory() as create:
            with patch.object(lifecycle, "create_app", create):
                app = await worker.build_asgi_app(loopback=True)
            transport = ASGITransport(app=app, raise_app_exceptions=False)
            async with AsyncClient(transport=transport, base_url="http://localhost") as client:
                yield LocalApp(worker, app, client, started)
