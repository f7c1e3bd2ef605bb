"""Durable runs in this process, whose participants follow scripts."""

import asyncio
from collections.abc import Sequence

import msgspec

from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter
from moot.engine.runs.execution import RunDeps
from moot.engine.runs.manager import RunManager
from moot.engine.runs.references import ReferenceResolver
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease, Runs
from moot.types.discussions import Message, Run
from moot.types.events import Event, RunEnded, RunStarted, RunStatus, TextDelta, TurnStarted
from tests.support.accounts import ANNA, create_discussion
from tests.support.runs import WORKER, create_run, lease_run
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER, RecordingProvider
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, wait_until

ENDLESS_SCRIPT = Script(answer="On and on. ", fault="endless", chunk_interval_seconds=0.01)


class RunHarness:
    """Durable runs in this process, whose participants follow scripts."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.provider = RecordingProvider({"forever": ENDLESS_SCRIPT})
        self.ended_runs: list[tuple[RunLease, Sequence[Message]]] = []
        self.pending_errors: list[Exception] = []  # raised by the next calls of `_resolve_model`
        self.stores = make_stores(database)
        events = self.stores.events
        self.event_writer = EventWriter(events, EventHub(events), lambda _: None)
        run_deps = RunDeps(
            stores=self.stores,
            event_writer=self.event_writer,
            model_caller=MODEL_CALLER,
            resolve_model=self._resolve_model,
            reference_resolver=ReferenceResolver(self.stores, self._resolve_model, MODEL_CALLER),
        )
        self.run_manager = RunManager(run_deps, self._record_end)

    async def _resolve_model(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.pending_errors:
            raise self.pending_errors.pop(0)
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def _record_end(self, lease: RunLease, turns: Sequence[Message]) -> None:
        self.ended_runs.append((lease, turns))

    async def create_run(self, model: str = "scripted/echo", worker: str = WORKER) -> Run:
        """Store a discussion, a question and the run that answers it."""
        return await create_run(
            self.database,
            await create_discussion(self.database, model=model),
            worker_id=worker,
            question="Why?",
        )

    async def wait_for_end(self, run: Run) -> RunStatus:
        """Wait for the end of a run, and return how it ended."""
        events = await self.wait_for_event(run, RunEnded)
        stored = await Runs(self.database).get_run(ANNA, run.id)
        assert isinstance(events[-1], RunEnded)
        assert stored.status == events[-1].status
        return events[-1].status

    async def wait_for_event(self, run: Run, event_type: type[Event]) -> list[Event]:
        """Wait for an event of a type, and return all events."""
        async with asyncio.timeout(WAIT_TIMEOUT_SECONDS):
            while not any(isinstance(event, event_type) for event in await self.read_events(run)):
                await asyncio.sleep(0.01)
        return await self.read_events(run)

    async def read_events(self, run: Run) -> list[Event]:
        rows = await EventLog(self.database).read_events(run.id, 0)
        return [msgspec.json.decode(body, type=Event) for _, body in rows]

    async def read_answers(self, run: Run) -> list[tuple[str, str]]:
        messages = await Discussions(self.database).list_messages(run.discussion)
        return [(message.status, message.content) for message in messages if message.role == "assistant"]

    async def start_two_runs(self) -> tuple[Run, Run]:
        """Start an endless run, and a second run of the same discussion, which waits for it."""
        old = await self.create_run("scripted/forever")
        self.run_manager.start_run(old.id)
        await self.wait_for_event(old, RunStarted)
        discussion = await Discussions(self.database).get_discussion(ANNA, old.discussion)
        new = await create_run(self.database, discussion, question="And?")
        self.run_manager.start_run(new.id)
        await wait_until(lambda: {old.id, new.id} <= self.run_manager.executions.keys())
        return old, new

    async def stop_run(self, run: Run) -> RunStatus:
        """Stop a run, and return how it ended."""
        await Runs(self.database).request_stop(ANNA, run.id)
        self.run_manager.on_command(run.id)  # on Postgres no listener runs in these tests
        return await self.wait_for_end(run)

    async def interrupt_run(self, run: Run, text: str) -> None:
        """Write the events of a run that another worker started, and that died while Alpha was speaking."""
        turn_key = {"participant": "alpha", "stage": "answer", "round": 0}
        run_log = self.event_writer.open_run(await lease_run(self.database, run.id))
        started = TurnStarted(**turn_key, attempt=1, model="scripted/echo")  # type: ignore[arg-type]
        await run_log.append_events([started, TextDelta(**turn_key, text=text)])  # type: ignore[arg-type]
        await self.event_writer.flush_events()
