"""Run executor: executes one revision of a run, from its lease to its end.

Acquiring the lease raises the epoch of the run. This fences the previous owner, which can write no more events.
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
from moot.prompts.parts import AttachmentsByMessage
from moot.providers.registry import ResolvedModel
from moot.store.retry import retry_while_unavailable
from moot.store.runs.runs import RunCommands, RunLease
from moot.store.stores import Stores
from moot.streaming.cancellation import StopSignal
from moot.types.discussions import Message
from moot.types.errors import ShuttingDown
from moot.types.events import Event, Notice, RunEnded, RunStarted, RunStatus
from moot.types.participants import Participant

MAX_EXECUTIONS = 20  # per revision; a run that crashes its worker each time must not restart forever
EARLIER_RUN_SECONDS = 900.0  # a new message does not interrupt a tool call, which may take minutes
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 1.0
TOOL_CLOSE_SECONDS = 10.0

log = logging.getLogger(__name__)


class RunExecution:
    """A revision of a run that this process executes, and the commands for it: stop, retry, approve.

    Commands may arrive before the table exists. They are kept and forwarded when it is attached.
    """

    def __init__(self, revision: int = 0) -> None:
        self.stop = StopSignal()
        self.pending_approvals = PendingApprovals()
        self.finished = asyncio.Event()
        self.command_lock = asyncio.Lock()
        self._revision = revision
        self._applied_retries: dict[str, int] = {}  # by participant: the revision of its last started retry
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
        """The last revision whose retries have all been started."""
        retry = self._commands.retry
        return (
            min([retry.revision, *(due - 1 for due in self._pending_retries().values())]) if retry else self._revision
        )

    def _pending_retries(self) -> dict[str, int]:
        """Return the participants that still wait for a retry, with the revision that requested it."""
        requested = self._commands.retry.retries if self._commands.retry else {}
        return {
            participant: revision
            for participant, revision in requested.items()
            if revision > self._applied_retries.get(participant, self._revision)
        }

    def _forward_commands(self) -> None:
        if self._table is None:
            return
        for participant in self._commands.stopped_participants:
            if participant in self._table.stop_signals:
                self._table.stop_signals[participant].request_stop()
        self._retry_participants(self._table)

    def _retry_participants(self, table: RunTable) -> None:
        """Retry participants that failed in the current stage. Other retries start a new revision after the end."""
        for participant, revision in self._pending_retries().items():
            if self._commands.retry and table.retry_participant(participant, self._commands.retry.plan):
                self._applied_retries[participant] = revision


class FinishedRun(NamedTuple):
    lease: RunLease
    turns: Sequence[Message]  # of this revision


class RunExecutor:
    def __init__(
        self,
        stores: Stores,
        event_writer: EventWriter,
        model_caller: ModelCaller,
        resolve_model: ResolveModel,
        durable_step: DurableStep,
        reference_resolver: ReferenceResolver,
        tool_catalog: ToolCatalog | None = None,
    ) -> None:
        self._stores = stores
        self._worker = stores.worker_id
        self._runs = stores.runs
        self._discussions = stores.discussions
        self._events = stores.events
        self._usage_reports = stores.usage_reports
        self._event_writer = event_writer
        self._model_caller = model_caller
        self._resolve_model = retry_while_unavailable(resolve_model)
        self._durable_step = durable_step
        self._reference_resolver = reference_resolver
        self._tool_catalog = tool_catalog
        self._closing_tasks: set[asyncio.Task[None]] = set()

    async def execute_run(self, run: str, revision: int, execution: RunExecution) -> FinishedRun | None:
        """Execute a revision until its end; return None if the revision had already ended."""
        lease = await self._acquire_lease(run, revision)
        if lease is None:
            return None
        if lease.must_wait:
            await self._wait_for_earlier_runs(run, execution.stop)
        event_buffer = self._event_writer.open_run(lease)
        transcript = StoredTranscript(event_buffer, lease, (), (), lambda: self._load_events(lease))
        earlier_events: Sequence[Event] = ()
        try:
            if lease.seq:
                earlier_events = await self._load_events(lease)
            await event_buffer.append_events([_first_event(lease, earlier_events)])
            transcript, commands = await asyncio.gather(
                self._load_transcript(lease, event_buffer, earlier_events),
                self._runs.pending_commands(run),
            )
            execution.apply_commands(commands)
            status = await self._run_mode(lease, transcript, execution)
        except Exception:
            # A bug ends this run with a notice. It must not end the worker, nor leave clients waiting.
            log.exception("run failed with an internal error", extra={"run": run})
            status = await _fail_run(transcript, "A mistake in Moot itself ended this run.")
        await event_buffer.end_run(RunEnded(status=status), execution.applied_revision)
        telemetry.RUNS_ENDED.labels(lease.plan.mode, status).inc()
        since = max((event.at for event in earlier_events if isinstance(event, RunEnded)), default=0.0)
        turns = [m for m in transcript.messages if m.run == run and m.participant and m.created_at > since]
        return FinishedRun(lease, turns)

    async def _acquire_lease(self, run: str, revision: int) -> RunLease | None:
        try:
            return await self._runs.acquire_lease(run, self._worker, revision)
        except ShuttingDown:  # this worker was deregistered, so another one executes the run
            await wait_forever()

    async def _run_mode(self, lease: RunLease, transcript: StoredTranscript, execution: RunExecution) -> RunStatus:
        if lease.epoch > MAX_EXECUTIONS * (lease.revision + 1):
            return await _fail_run(transcript, f"This run was restarted {MAX_EXECUTIONS} times and never finished.")
        await self._reference_resolver.resolve_references(lease, transcript, execution.stop)
        attachments = await retry_while_unavailable(load_attachments)(self._stores, lease.tenant, transcript.messages)
        async with self._open_tool_session(lease, execution) as tool_session:
            table = self._build_table(lease, transcript, execution, attachments, tool_session)
            status = await table.run_mode()
        await transcript.end_open_turns(execution.stop.reason)
        return status

    @asynccontextmanager
    async def _open_tool_session(self, lease: RunLease, execution: RunExecution) -> AsyncIterator[ToolSession | None]:
        if self._tool_catalog is None or not any(who.tools for who in lease.plan.participants):
            yield None
            return
        await self._tool_catalog.withdraw_approvals(lease.run)
        tool_session = self._tool_catalog.open_session(lease, execution.pending_approvals)
        try:
            yield tool_session
        finally:  # in a task, so that a slow tool server does not delay the end of the run
            closing = asyncio.get_running_loop().create_task(tool_session.aclose())
            self._closing_tasks.add(closing)
            closing.add_done_callback(self._closing_tasks.discard)

    async def wait_for_tool_sessions(self) -> None:
        """Wait until the tool sessions of ended runs are closed, with a timeout."""
        if self._closing_tasks:
            await asyncio.wait(self._closing_tasks, timeout=TOOL_CLOSE_SECONDS)

    @retry_while_unavailable
    async def _load_transcript(
        self, lease: RunLease, event_buffer: RunEventBuffer, earlier_events: Sequence[Event]
    ) -> StoredTranscript:
        messages = await self._load_messages(lease)
        spent_usd = (await self._usage_reports.run_spending(lease.run)).cost if earlier_events else 0.0
        return StoredTranscript(
            event_buffer, lease, messages, earlier_events, lambda: self._load_events(lease), spent_usd
        )

    async def _load_messages(self, lease: RunLease) -> Sequence[Message]:
        """Load the messages that the run can see. A regenerated answer sees what the original answer saw."""
        if (target := lease.plan.again) is None:
            return await self._discussions.list_messages(lease.discussion, max_position=lease.place)
        before = await self._discussions.list_messages(
            lease.discussion, before=target.number, visible_until=target.upto
        )
        return (*before, *await self._discussions.run_messages(lease.run))

    @retry_while_unavailable
    async def _load_events(self, lease: RunLease) -> list[Event]:
        """Load all events of the run, including those of earlier executions."""
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
            return await self._resolve_model(lease.tenant, participant.model)

        run_context = RunContext(
            run=lease.run,
            discussion=lease.discussion,
            plan=lease.plan,
            revision=lease.revision,
            attachments=attachments,
        )
        table = RunTable(
            run_context,
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
        """Poll until earlier runs of the discussion have ended, so that this run sees their messages."""
        until, pause = asyncio.get_running_loop().time() + EARLIER_RUN_SECONDS, FIRST_POLL_SECONDS
        while await self._runs.has_earlier_live_run(run):
            if asyncio.get_running_loop().time() > until:
                log.warning("timed out waiting for an earlier run; continuing without it", extra={"run": run})
                return
            if await stop.sleep_unless_stopped(pause):
                return
            pause = min(2 * pause, MAX_POLL_SECONDS)


async def wait_forever() -> NoReturn:
    """Block until the process exits, so that DBOS leaves the workflow pending for another worker."""
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def _fail_run(transcript: StoredTranscript, words: str) -> RunStatus:
    await transcript.end_open_turns(None)
    await transcript.append_events([Notice(kind="gave_up", message=words)])
    return "failed"


def _first_event(lease: RunLease, earlier_events: Sequence[Event]) -> Event:
    if lease.seq == 0:
        return RunStarted(participants=lease.plan.participants)
    if earlier_events and isinstance(earlier_events[-1], RunEnded):
        return Notice(kind="retried", message="Retrying failed participants. Existing answers are kept.")
    return Notice(kind="resumed", message="The run was interrupted and resumed. Unfinished answers start over.")
