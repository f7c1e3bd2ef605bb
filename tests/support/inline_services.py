"""Services that execute runs at once. Every answer is the number of its model call."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from msgspec.structs import replace

from moot.app.lifecycle import Worker
from moot.engine.runs.ephemeral import run_step_directly
from moot.engine.runs.execution import RunDeps, RunExecution
from moot.engine.runs.references import ReferenceResolver
from moot.engine.turns.model_caller import ModelCaller
from moot.providers.provider import ChunkStream
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Script, Scripts
from moot.services.discussions import NewMessage, StartedRun
from moot.services.run_plans import NewDiscussion
from moot.store.database import Database
from moot.streaming.turn_stream import Limits
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.events import RunStatus
from moot.types.participants import make_participants
from moot.types.requests import ModelRequest
from tests.support.accounts import ANNA
from tests.support.app_fixture import build_idle_worker

CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
FAILING_SCRIPT = Script(fault="unauthorized")
FAST_MODEL_CALLER = ModelCaller(Limits(idle=5, total=30), backoff_seconds=0.001, jitter=lambda: 0.5)


class CountingProvider(ScriptedProvider):
    """Models that answer with the number of the call. The model `broken` fails."""

    def __init__(self) -> None:
        self.scripts = Scripts(
            {
                **BUILT_IN_SCRIPTS,
                "other": Script(),
                "dear": Script(usd_per_million_tokens=1000),
                "broken": FAILING_SCRIPT,
            }
        )
        super().__init__(self.scripts)
        self.requests: list[ModelRequest] = []

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        self.requests.append(request)
        if request.model != "broken":
            self.scripts.by_name[request.model] = Script(answer=f"#{len(self.requests)}", chunk_chars=100)
        async for chunks in super().stream_chunks(request, key):
            yield chunks


class InlineServices:
    def __init__(self, worker: Worker, provider: CountingProvider) -> None:
        self.worker = worker
        self.services = worker.services
        self.provider = provider
        resolve_model = self.services.model_resolver.resolve_with_fallbacks
        self.run_deps = RunDeps(
            stores=worker.stores,
            event_writer=worker.engine.event_writer,
            model_caller=FAST_MODEL_CALLER,
            resolve_model=resolve_model,
            reference_resolver=ReferenceResolver(worker.stores, resolve_model, FAST_MODEL_CALLER),
        )

    async def create_discussion(
        self, mode: str = "single", participant_count: int = 1, text: str = "Why?", **more: Any
    ) -> StartedRun:
        """Create a discussion, and execute its run."""
        participants = make_participants(("scripted/echo",) * participant_count)
        new_discussion = NewDiscussion(
            message=text, participants=participants, mode=mode, rounds=2, language="en", **more
        )
        return await self.execute_run(await self.services.discussion_service.create(CALLER, new_discussion))

    async def send_message(self, discussion: str, text: str, **more: Any) -> StartedRun:
        return await self.execute_run(
            await self.services.discussion_service.send_message(
                CALLER, NewMessage(discussion=discussion, message=text, **more)
            )
        )

    async def regenerate(self, discussion: str, turn: str, model: str | None = None) -> StartedRun:
        return await self.execute_run(
            await self.services.turn_versions.regenerate_answer(CALLER, discussion, turn, model)
        )

    async def execute_run(self, started_run: StartedRun, revision: int = 0) -> StartedRun:
        """Execute a run to its end, and return it as it is then."""
        await RunExecution(self.run_deps, run_step_directly, started_run.run.id, revision).execute()
        return replace(started_run, run=await self.services.runs.get_run(ANNA, started_run.run.id))

    async def run_status(self, started_run: StartedRun) -> RunStatus | str:
        return (await self.services.runs.get_run(ANNA, started_run.run.id)).status

    async def messages(self, discussion: str, **more: Any) -> Sequence[Message]:
        return await self.services.discussions.list_messages(discussion, include_hidden=False, **more)

    async def answers(self, discussion: str) -> Sequence[Message]:
        return [one for one in await self.messages(discussion) if one.participant]

    def request_for(self, answer: Message) -> ModelRequest:
        """Return the request that an answer came from."""
        return self.provider.requests[int(answer.content.removeprefix("#")) - 1]


@asynccontextmanager
async def open_inline_services(database: Database) -> AsyncIterator[InlineServices]:
    """Build inline services on a database that has accounts."""
    async with Registry({}, {"OLLAMA_BASE_URL": "http://127.0.0.1:9/v1"}) as registry:
        provider = CountingProvider()
        registry._providers["scripted"] = provider
        worker = await build_idle_worker(database, registry)
        worker.services.discussion_service._start = lambda _: None  # `execute_run` executes it
        writing = asyncio.create_task(worker.engine.event_writer.write_forever())
        yield InlineServices(worker, provider)
        writing.cancel()
        with suppress(asyncio.CancelledError):
            await writing
