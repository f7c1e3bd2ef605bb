"""One execution of a run, from taking it up to its end.

It first raises the run's epoch, so that whoever had the run before can write no more.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple, NoReturn

import msgspec

from moot.engine import telemetry
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.engine.model_resolution import ResolveModel
from moot.engine.runs.references import ReferenceResolver, load_attachments
from moot.engine.runs.table import DurableStep, RunTable
from moot.engine.runs.transcript import StoredTranscript
from moot.engine.tools.approvals import PendingApprovals
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.tools.session import ToolSession
from moot.engine.turns.context import RunContext
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.waits import retry_while_unavailable
from moot.prompts.parts import AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.store.billing.usage import UsageReports
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import RunCommands, RunLease, Runs
from moot.streaming.cancellation import StopSignal
from moot.types.discussions import Message
from moot.types.errors import ShuttingDown
from moot.types.events import Event, Notice, RunEnded, RunStarted, RunStatus
from moot.types.participants import Participant

MAX_EXECUTIONS = 20
EARLIER_RUN_SECONDS = 900.0  # whoever calls a tool is not interrupted, and a tool may take minutes
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 1.0  # seconds
TOOL_CLOSE_SECONDS = 10.0

log = logging.getLogger(__name__)


class RunExecution:
    """A revision of a run that this process is executing, and what is wished of it."""

    def __init__(self, revision: int = 0) -> None:
        self.stop = StopSignal()
        self.pending_approvals = PendingApprovals()
        self.finished = asyncio.Event()
        self.command_lock = asyncio.Lock()
        self._revision = revision
        self._applied_retries: dict[str, int] = {}  # who tries again already, and since which revision
        self._table: RunTable | None = None
        self._commands = RunCommands(None, ())

    def apply_commands(self, commands: RunCommands) -> None:
        if commands.stop_reason is not None:
            self.stop.request_stop(commands.stop_reason)
        self._commands = commands
        self.pending_approvals.resolve_decisions(commands.approval_decisions)
        self._forward_commands()

    def attach_table(self, table: RunTable) -> None:
        self._table = table
        self._forward_commands()

    @property
    def applied_revision(self) -> int:
        """The last revision of which nothing is left to try again."""
        again = self._commands.retry
        return (
            min([again.revision, *(due - 1 for due in self._pending_retries().values())])
            if again
            else self._revision
        )

    def _pending_retries(self) -> dict[str, int]:
        """Say who is still to try again, and since which revision."""
        wished = self._commands.retry.retries if self._commands.retry else {}
        return {
            who: revision
            for who, revision in wished.items()
            if revision > self._applied_retries.get(who, self._revision)
        }

    def _forward_commands(self) -> None:
        if self._table is None:
            return
        for participant in self._commands.stopped_participants:
            if participant in self._table.stop_signals:
                self._table.stop_signals[participant].request_stop()
        self._retry_participants(self._table)

    def _retry_participants(self, table: RunTable) -> None:
        """Let those speak anew who failed in the stage that is going on; the others are due after this run's end."""
        for who, revision in self._pending_retries().items():
            if self._commands.retry and table.retry_participant(who, self._commands.retry.plan):
                self._applied_retries[who] = revision


class FinishedRun(NamedTuple):
    """A run that came to its end here, with the turns of it."""

    lease: RunLease
    turns: Sequence[Message]


class RunExecutor:
    def __init__(
        self,
        database: Database,
        worker: str,
        event_writer: EventWriter,
        model_caller: ModelCaller,
        resolve_model: ResolveModel,
        durable_step: DurableStep,
        reference_resolver: ReferenceResolver,
        tool_catalog: ToolCatalog | None = None,
    ) -> None:
        self._database = database
        self._worker = worker
        self._runs = Runs(database)
        self._discussions = Discussions(database)
        self._events = EventLog(database)
        self._usage_reports = UsageReports(database)
        self._event_writer = event_writer
        self._model_caller = model_caller
        self._resolve_model = resolve_model
        self._durable_step = durable_step
        self._reference_resolver = reference_resolver
        self._tool_catalog = tool_catalog
        self._closing_tasks: set[asyncio.Task[None]] = set()

    async def execute_run(self, run: str, revision: int, execution: RunExecution) -> FinishedRun | None:
        """Bring a revision of a run to its end; None if it was over already."""
        claim = await self._acquire_lease(run, revision)
        if claim is None:
            return None
        if claim.must_wait:
            await self._wait_for_earlier_runs(run, execution.stop)
        journal = self._event_writer.open_run(claim)
        record = StoredTranscript(journal, claim, (), (), lambda: self._load_events(claim))
        told: Sequence[Event] = ()
        try:
            told = await retry_while_unavailable(lambda: self._load_events(claim)) if claim.seq else ()
            await journal.append_events([_first_event(claim, told)])
            record, wishes = await asyncio.gather(
                retry_while_unavailable(lambda: self._load_transcript(claim, journal, told)),
                retry_while_unavailable(lambda: self._runs.pending_commands(run)),
            )
            execution.apply_commands(wishes)
            status = await self._run_mode(claim, record, execution)
        except Exception:
            # A mistake of ours ends this run with words, not the worker and not in silence.
            log.exception("a run failed", extra={"run": run})
            status = await _fail_run(record, "A mistake in Moot itself ended this run.")
        await journal.end_run(RunEnded(status=status), execution.applied_revision)
        telemetry.RUNS_ENDED.labels(claim.plan.mode, status).inc()
        since = max((event.at for event in told if isinstance(event, RunEnded)), default=0.0)
        return FinishedRun(
            claim, [m for m in record.messages if m.run == run and m.participant and m.created_at > since]
        )

    async def _acquire_lease(self, run: str, revision: int) -> RunLease | None:
        try:
            return await retry_while_unavailable(
                lambda: self._runs.acquire_lease(run, self._worker, revision)
            )
        except ShuttingDown:
            await wait_forever()

    async def _run_mode(
        self, lease: RunLease, transcript: StoredTranscript, execution: RunExecution
    ) -> RunStatus:
        if lease.epoch > MAX_EXECUTIONS * (lease.revision + 1):
            return await _fail_run(
                transcript, f"This run was taken up {MAX_EXECUTIONS} times and never finished."
            )
        await self._reference_resolver.resolve_references(lease, transcript, execution.stop)
        came = await retry_while_unavailable(
            lambda: load_attachments(self._database, lease.tenant, transcript.messages)
        )
        async with self._open_tool_session(lease, execution) as workshop:
            status = await self._build_table(lease, transcript, execution, came, workshop).run_mode()
        await transcript.end_open_turns(execution.stop.reason)
        return status

    @asynccontextmanager
    async def _open_tool_session(
        self, lease: RunLease, execution: RunExecution
    ) -> AsyncIterator[ToolSession | None]:
        if self._tool_catalog is None or not any(who.tools for who in lease.plan.participants):
            yield None
            return
        tooling = self._tool_catalog
        await retry_while_unavailable(lambda: tooling.withdraw_approvals(lease.run))
        workshop = tooling.open_session(lease, execution.pending_approvals)
        try:
            yield workshop
        finally:  # and nobody waits for it
            closing = asyncio.get_running_loop().create_task(workshop.aclose())
            self._closing_tasks.add(closing)
            closing.add_done_callback(self._closing_tasks.discard)

    async def wait_for_tool_sessions(self) -> None:
        """Wait until what runs had opened is closed, which does not take long."""
        if self._closing_tasks:
            await asyncio.wait(self._closing_tasks, timeout=TOOL_CLOSE_SECONDS)

    async def _load_transcript(
        self, lease: RunLease, event_buffer: RunEventBuffer, earlier_events: Sequence[Event]
    ) -> StoredTranscript:
        said = await self._load_messages(lease)
        spent = (await self._usage_reports.run_spending(lease.run)).cost if earlier_events else 0.0
        return StoredTranscript(
            event_buffer, lease, said, earlier_events, lambda: self._load_events(lease), spent
        )

    async def _load_messages(self, lease: RunLease) -> Sequence[Message]:
        """Read what the run can know of: all until now or, where an answer is given anew, what was there then."""
        if (then := lease.plan.again) is None:
            return await self._discussions.list_messages(lease.discussion, max_position=lease.place)
        before = await self._discussions.list_messages(
            lease.discussion, before=then.number, visible_until=then.upto
        )
        return (*before, *await self._discussions.run_messages(lease.run))

    async def _load_events(self, lease: RunLease) -> list[Event]:
        """Read all that was told of a run until now."""
        await self._event_writer.flush_events()
        events: list[Event] = []
        while page := await self._events.read_events(lease.run, events[-1].seq if events else 0):
            events += [msgspec.json.decode(body, type=Event) for _, body in page]
        return events

    def _build_table(
        self,
        lease: RunLease,
        transcript: StoredTranscript,
        execution: RunExecution,
        attachments: AttachmentsByMessage,
        tool_session: ToolSession | None,
    ) -> RunTable:
        async def resolve_model(participant: Participant) -> Sequence[ResolvedModel]:
            return await retry_while_unavailable(lambda: self._resolve_model(lease.tenant, participant.model))

        scene = RunContext(
            run=lease.run,
            discussion=lease.discussion,
            plan=lease.plan,
            revision=lease.revision,
            attachments=attachments,
        )
        table = RunTable(
            scene,
            transcript,
            resolve_model,
            self._model_caller,
            execution.stop,
            self._durable_step,
            tool_session,
        )
        execution.attach_table(table)
        return table

    async def _wait_for_earlier_runs(self, run: str, stop: StopSignal) -> None:
        """Let what was interrupted come to its end first, so that this run sees what was said."""
        until, pause = asyncio.get_running_loop().time() + EARLIER_RUN_SECONDS, FIRST_POLL_SECONDS
        while await retry_while_unavailable(lambda: self._runs.has_earlier_live_run(run)):
            if asyncio.get_running_loop().time() > until:
                log.warning("an earlier run does not end; going on without it", extra={"run": run})
                return
            if await stop.sleep_unless_stopped(pause):
                return
            pause = min(2 * pause, MAX_POLL_SECONDS)


async def wait_forever() -> NoReturn:
    """Wait for the end of this process: others have the run then, and DBOS must not hear that it is over."""
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")


async def _fail_run(transcript: StoredTranscript, words: str) -> RunStatus:
    await transcript.end_open_turns(None)
    await transcript.append_events([Notice(kind="gave_up", message=words)])
    return "failed"


def _first_event(lease: RunLease, earlier_events: Sequence[Event]) -> Event:
    if lease.seq == 0:
        return RunStarted(participants=lease.plan.participants)
    if earlier_events and isinstance(earlier_events[-1], RunEnded):
        return Notice(kind="retried", message="What failed is tried again; what was answered stays.")
    return Notice(
        kind="resumed", message="The run was cut off here and went on; unfinished answers began anew."
    )
