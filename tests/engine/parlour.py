"""A house in which runs are executed at once, and every answer is the number of the call that it came from."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from moot.app.container import Services
from moot.engine.runs.executor import RunExecution, RunExecutor
from moot.engine.runs.inline import run_step_directly
from moot.engine.runs.references import ReferenceResolver
from moot.engine.turns.model_caller import ModelCaller
from moot.providers.provider import ChunkStream
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.services.discussions import NewDiscussion, Saying, Started
from moot.store.database import Database
from moot.streaming.turn_stream import Limits
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.events import RunStatus
from moot.types.participants import make_participants
from moot.types.requests import ModelRequest
from tests.server.talking import idle
from tests.store.people import ANNA

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
BROKEN = Script(fault="unauthorized")
FASTEST = ModelCaller(Limits(idle=5, total=30), backoff_seconds=0.001, jitter=lambda: 0.5)


class Counting(ScriptedProvider):
    """Models that answer with the number of the call, but for `broken`, which fails."""

    def __init__(self) -> None:
        self.scripts = Scripts(
            {**BUILT_IN_SCRIPTS, "other": Script(), "dear": Script(price=1000), "broken": BROKEN}
        )
        super().__init__(self.scripts)
        self.asked: list[ModelRequest] = []

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.asked.append(request)
        if request.model != "broken":
            self.scripts.by_name[request.model] = Script(answer=f"#{len(self.asked)}", chunk=100)
        async for chunks in super().stream_chunks(request, key):
            yield chunks


class Parlour:
    def __init__(self, house: Services, provider: Counting) -> None:
        self.house = house
        self.provider = provider
        chains, budgets = house.casting.resolve_with_fallbacks, house.budgets
        recapping = ReferenceResolver(house.database, chains, FASTEST, budgets)
        self.executor = RunExecutor(
            house.database, house.worker_id, house.event_writer, FASTEST, chains, run_step_directly, recapping
        )

    async def open(self, mode: str = "single", seats: int = 1, words: str = "Why?", **more: Any) -> Started:
        """Open a discussion, and let it be answered."""
        who = make_participants(("scripted/echo",) * seats)
        opening = NewDiscussion(message=words, participants=who, mode=mode, rounds=2, language="en", **more)
        return await self.played(await self.house.hall.create(CALLER, opening))

    async def say(self, discussion: str, words: str, **more: Any) -> Started:
        return await self.played(
            await self.house.hall.send_message(CALLER, Saying(discussion=discussion, message=words, **more))
        )

    async def again(self, discussion: str, turn: str, model: str | None = None) -> Started:
        return await self.played(await self.house.revising.regenerate_answer(CALLER, discussion, turn, model))

    async def played(self, started: Started, revision: int = 0) -> Started:
        """Bring a run to its end, and return it as it is then."""
        await self.executor.execute_run(started.run.id, revision, RunExecution(revision))
        return replace(started, run=await self.house.runs.get_run(ANNA, started.run.id))

    async def status(self, started: Started) -> RunStatus | str:
        return (await self.house.runs.get_run(ANNA, started.run.id)).status

    async def messages(self, discussion: str, **more: Any) -> Sequence[Message]:
        return await self.house.discussions.list_messages(discussion, include_hidden=False, **more)

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
        writing = asyncio.create_task(house.event_writer.write_forever())
        yield Parlour(house, provider)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
