"""A budget under many concurrent requests: no more runs start than it allows."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient

from moot.app.lifecycle import open_worker
from moot.providers.provider import ChunkStream
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.settings import RateSettings, Settings
from moot.types.requests import ModelRequest
from tests.support.databases import DATABASE_KINDS, DatabaseKind, migrated_database_url
from tests.support.stores import ENCRYPTION_SECRET

# tests/services/test_discussions.py tests concurrent requests on both databases, without a server or a model.
pytestmark = pytest.mark.slow

REQUEST_COUNTS = (20, 200)
AFFORDABLE_RUNS = 10
UNLIMITED = 1_000_000
RATES = RateSettings(
    requests_per_minute=UNLIMITED,
    messages_per_minute=UNLIMITED,
    messages_burst=UNLIMITED,
    model_calls_per_minute=UNLIMITED,
)
QUESTION = {"message": "What is a moot?", "participants": ["scripted/dear"], "language": "en"}


class CountingProvider(ScriptedProvider):
    """A model that answers in a few words, once it is let; and how often it was asked."""

    def __init__(self) -> None:
        super().__init__(Scripts({"dear": Script(answer="A meeting.", usd_per_million_tokens=1000)}))
        self.request_count = 0
        self.may_answer = asyncio.Event()

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.request_count += 1
        await self.may_answer.wait()
        async for chunks in super().stream_chunks(request, key):
            yield chunks


@asynccontextmanager
async def serve_app(url: str, models: CountingProvider, budget: float | None) -> AsyncIterator[AsyncClient]:
    settings = Settings(database_url=url, weekly_budget_usd=budget, rates=RATES)
    async with open_worker(settings, {"MOOT_SECRET": ENCRYPTION_SECRET}, "http://localhost/") as worker:
        worker.engine.registry._providers["scripted"] = models
        transport = ASGITransport(app=await worker.build_asgi_app(loopback=True))
        async with AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield client
        await worker.shut_down()


async def wait_until_nothing_reserved(client: AsyncClient) -> None:
    async with asyncio.timeout(60):
        while (await client.get("/api/budget")).json()["reserved_usd"]:
            await asyncio.sleep(0.02)


async def create_discussion(client: AsyncClient) -> Any:
    while (reply := await client.post("/api/discussions", json=QUESTION)).status_code == 503:
        await asyncio.sleep(0.1)  # the database is busy: the client tries again
    return reply


@pytest.mark.parametrize("request_count", REQUEST_COUNTS)
@pytest.mark.parametrize("kind", DATABASE_KINDS)
async def test_concurrent_requests_start_only_as_many_runs_as_budget_allows(
    kind: DatabaseKind, request_count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    models = CountingProvider()
    async with migrated_database_url(kind, tmp_path) as url:
        async with serve_app(url, models, None) as client:
            estimate = (await client.post("/api/estimate", json=QUESTION)).json()["forecast"]["cost_usd"]
        async with serve_app(url, models, estimate * (AFFORDABLE_RUNS + 0.5)) as client:
            replies = await asyncio.gather(*(create_discussion(client) for _ in range(request_count)))
            assert Counter(reply.status_code for reply in replies) == {
                201: AFFORDABLE_RUNS,
                402: request_count - AFFORDABLE_RUNS,
            }
            models.may_answer.set()
            await wait_until_nothing_reserved(client)
            assert models.request_count == AFFORDABLE_RUNS
            assert (await client.get("/api/budget")).json()["remaining_usd"] > estimate
            assert (await create_discussion(client)).status_code == 201, (
                "the answers were cheaper than they might have been"
            )
            await wait_until_nothing_reserved(client)
