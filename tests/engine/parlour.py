"""A house in which runs are executed at once, and every answer is the number of the call that it came from."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from moot.app.container import House
from moot.engine.runs.executor import Execution, Executor
from moot.engine.runs.inline import at_once
from moot.engine.runs.references import Recapping
from moot.engine.turns.model_caller import Speaker
from moot.providers.provider import ChunkStream
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN, Script, Scripts
from moot.services.discussions import Opening, Saying, Started
from moot.store.database import Database
from moot.streaming.turn_stream import Limits
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.events import RunStatus
from moot.types.participants import seat
from moot.types.requests import ModelRequest
from tests.server.talking import idle
from tests.store.people import ANNA

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
BROKEN = Script(fault="unauthorized")
FASTEST = Speaker(Limits(idle=5, total=30), backoff=0.001, jitter=lambda: 0.5)


class Counting(ScriptedProvider):
    """Models that answer with the number of the call, but for `broken`, which fails."""

    def __init__(self) -> None:
        self.scripts = Scripts({**BUILT_IN, "other": Script(), "dear": Script(price=1000), "broken": BROKEN})
        super().__init__(self.scripts)
        self.asked: list[ModelRequest] = []

    async def stream(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.asked.append(request)
        if request.model != "broken":
            self.scripts.named[request.model] = Script(answer=f"#{len(self.asked)}", chunk=100)
        async for chunks in super().stream(request, key):
            yield chunks


class Parlour:
    def __init__(self, house: House, provider: Counting) -> None:
        self.house = house
        self.provider = provider
        chains, budgets = house.casting.models, house.budgets
        recapping = Recapping(house.database, chains, FASTEST, budgets)
        self.executor = Executor(
            house.database, house.worker, house.journal, FASTEST, chains, at_once, recapping
        )

    async def open(self, mode: str = "single", seats: int = 1, words: str = "Why?", **more: Any) -> Started:
        """Open a discussion, and let it be answered."""
        who = seat(("scripted/echo",) * seats)
        opening = Opening(message=words, participants=who, mode=mode, rounds=2, language="en", **more)
        return await self.played(await self.house.hall.open(CALLER, opening))

    async def say(self, discussion: str, words: str, **more: Any) -> Started:
        return await self.played(
            await self.house.hall.say(CALLER, Saying(discussion=discussion, message=words, **more))
        )

    async def again(self, discussion: str, turn: str, model: str | None = None) -> Started:
        return await self.played(await self.house.revising.again(CALLER, discussion, turn, model))

    async def played(self, started: Started, revision: int = 0) -> Started:
        """Bring a run to its end, and return it as it is then."""
        await self.executor.execute(started.run.id, revision, Execution(revision))
        return replace(started, run=await self.house.runs.get(ANNA, started.run.id))

    async def status(self, started: Started) -> RunStatus | str:
        return (await self.house.runs.get(ANNA, started.run.id)).status

    async def messages(self, discussion: str, **more: Any) -> Sequence[Message]:
        return await self.house.discussions.messages(discussion, hidden=False, **more)

    async def answers(self, discussion: str) -> Sequence[Message]:
        return [one for one in await self.messages(discussion) if one.participant]

    def sent(self, answer: Message) -> ModelRequest:
        """Find what was sent for an answer."""
        return self.provider.asked[int(answer.content.removeprefix("#")) - 1]


@asynccontextmanager
async def parlour(database: Database) -> AsyncIterator[Parlour]:
    """Build one on a database that is settled."""
    async with Registry({}, {"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}) as registry:
        provider = Counting()
        registry._providers["scripted"] = provider
        house = await idle(database, registry, None)
        house.hall._start = lambda _: None  # it is played here
        writing = asyncio.create_task(house.journal.write_for_ever())
        yield Parlour(house, provider)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
