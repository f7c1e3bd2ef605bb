"""Durable runs in this process, whose participants follow scripts."""

import asyncio
from collections.abc import Sequence

import msgspec

from moot.engine.events.hub import EventHub
from moot.engine.events.writer import EventWriter
from moot.engine.runs.manager import RunManager
from moot.engine.runs.references import ReferenceResolver
from moot.providers.keys import KeyRing
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunLease, Runs
from moot.types.discussions import Message, Run
from moot.types.events import Event, RunEnded, RunStarted, RunStatus, TextDelta, TurnStarted
from tests.engine.tables import SPEAKER, Recorded
from tests.store.hearing import SECONDS, eventually
from tests.store.people import ANNA, discuss
from tests.store.running import WORKER, claim, start

ENDLESS = Script(answer="On and on. ", fault="endless", pace=0.01)


class Works:
    """Durable runs in this process, whose participants follow scripts."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.provider = Recorded({"forever": ENDLESS})
        self.ended: list[tuple[RunLease, Sequence[Message]]] = []
        self.trouble: list[Exception] = []  # comes before the next answers
        events = EventLog(database)
        self.journal = EventWriter(events, EventHub(events), lambda _: None)
        recapping = ReferenceResolver(database, self._chain, SPEAKER, Budgets(database))
        self.runs = RunManager(database, WORKER, self.journal, SPEAKER, self._chain, self._note, recapping)

    async def _chain(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        if self.trouble:
            raise self.trouble.pop(0)
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def _note(self, claim: RunLease, turns: Sequence[Message]) -> None:
        self.ended.append((claim, turns))

    async def new(self, model: str = "scripted/echo", of: str = WORKER) -> Run:
        """Store a discussion, a question and the run that is to answer it."""
        return await start(self.database, await discuss(self.database, model=model), of=of, words="Why?")

    async def over(self, run: Run) -> RunStatus:
        """Wait for the end of a run, and return how it ended."""
        events = await self.until(run, RunEnded)
        stored = await Runs(self.database).get_run(ANNA, run.id)
        assert isinstance(events[-1], RunEnded)
        assert stored.status == events[-1].status
        return events[-1].status

    async def until(self, run: Run, kind: type[Event]) -> list[Event]:
        """Wait for an event of some kind, and return all that came."""
        async with asyncio.timeout(SECONDS):
            while not any(isinstance(event, kind) for event in await self.events(run)):
                await asyncio.sleep(0.01)
        return await self.events(run)

    async def events(self, run: Run) -> list[Event]:
        rows = await EventLog(self.database).read_events(run.id, 0)
        return [msgspec.json.decode(body, type=Event) for _, body in rows]

    async def answers(self, run: Run) -> list[tuple[str, str]]:
        said = await Discussions(self.database).list_messages(run.discussion)
        return [(message.status, message.content) for message in said if message.role == "assistant"]

    async def two_in_a_row(self) -> tuple[Run, Run]:
        """Start a run that speaks on and on, and one after it in the same discussion, which waits."""
        old = await self.new("scripted/forever")
        self.runs.start_run(old.id)
        await self.until(old, RunStarted)
        discussion = await Discussions(self.database).get_discussion(ANNA, old.discussion)
        new = await start(self.database, discussion, words="And?")
        self.runs.start_run(new.id)
        await eventually(lambda: {old.id, new.id} <= self.runs.executions.keys())
        return old, new

    async def stop(self, run: Run) -> RunStatus:
        """Stop a run, and return how it ended."""
        await Runs(self.database).request_stop(ANNA, run.id)
        self.runs.on_command(run.id)  # on Postgres nobody listens here
        return await self.over(run)

    async def cut_off(self, run: Run, words: str) -> None:
        """Let somebody else have begun a run, and have died while Alpha was speaking."""
        seat = {"participant": "alpha", "stage": "answer", "round": 0}
        journal = self.journal.open_run(await claim(self.database, run.id))
        begun = TurnStarted(**seat, attempt=1, model="scripted/echo")  # type: ignore[arg-type]
        await journal.append_events([begun, TextDelta(**seat, text=words)])  # type: ignore[arg-type]
        await self.journal.flush_events()
