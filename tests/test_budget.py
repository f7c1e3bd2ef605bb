"""A budget under a rush: however many ask at once, no more is begun than there is money for."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx import ASGITransport, AsyncClient

from moot.app.container import Services, opened
from moot.providers.provider import ChunkStream
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.settings import RateSettings, Settings
from moot.types.requests import ModelRequest
from tests.databases import KINDS, Kind, migrated_url
from tests.server.talking import SECRET

# tests/engine/test_hall.py shows a rush on both databases within one process, without a server or a model.
pytestmark = pytest.mark.slow

RUSHES = (20, 200)
ENOUGH_FOR = 10
MANY = 1_000_000
RATES = RateSettings(
    calls_a_minute=MANY, messages_a_minute=MANY, messages_burst=MANY, model_calls_a_minute=MANY
)
QUESTION = {"message": "What is a moot?", "participants": ["scripted/dear"], "language": "en"}


class Counting(ScriptedProvider):
    """A model that answers in a few words, once it is let; and how often it was asked."""

    def __init__(self) -> None:
        super().__init__(Scripts({"dear": Script(answer="A meeting.", price=1000)}))
        self.asked = 0
        self.may_answer = asyncio.Event()

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.asked += 1
        await self.may_answer.wait()
        async for chunks in super().stream_chunks(request, key):
            yield chunks


@asynccontextmanager
async def served(
    url: str, models: Counting, budget: float | None
) -> AsyncIterator[tuple[Services, AsyncClient]]:
    settings = Settings(database_url=url, budget=budget, rates=RATES)
    async with opened(settings, {"MOOT_SECRET": SECRET}, "http://localhost/") as house:
        house.registry._providers["scripted"] = models
        transport = ASGITransport(app=await house.app(settings, loopback=True))
        async with AsyncClient(transport=transport, base_url="http://localhost", timeout=60) as client:
            yield house, client
        await house.shutdown_services()


async def all_over(client: AsyncClient) -> None:
    """Wait until nothing is reserved any more."""
    async with asyncio.timeout(60):
        while (await client.get("/api/budget")).json()["reserved"]:
            await asyncio.sleep(0.02)


async def asked(client: AsyncClient) -> Any:
    while (reply := await client.post("/api/discussions", json=QUESTION)).status_code == 503:
        await asyncio.sleep(0.1)  # the database is busy: whoever wants an answer asks again
    return reply


@pytest.mark.parametrize("rush", RUSHES)
@pytest.mark.parametrize("kind", KINDS)
async def test_of_a_rush_on_a_budget_for_ten_at_most_ten_reach_the_provider(
    kind: Kind, rush: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    models = Counting()
    async with migrated_url(kind, tmp_path) as url:
        async with served(url, models, None) as (_, client):
            estimate = (await client.post("/api/estimate", json=QUESTION)).json()["forecast"]["cost"]
        async with served(url, models, estimate * (ENOUGH_FOR + 0.5)) as (_, client):
            replies = await asyncio.gather(*(asked(client) for _ in range(rush)))
            assert Counter(reply.status_code for reply in replies) == {
                201: ENOUGH_FOR,
                402: rush - ENOUGH_FOR,
            }
            models.may_answer.set()
            await all_over(client)
            assert models.asked == ENOUGH_FOR
            assert (await client.get("/api/budget")).json()["left"] > estimate
            assert (await asked(client)).status_code == 201, (
                "the answers were cheaper than they might have been"
            )
            await all_over(client)
