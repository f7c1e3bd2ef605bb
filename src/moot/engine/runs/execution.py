"""Execution of one revision of a run in this process, from its lease to its end."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple, NoReturn

from msgspec import UNSET, Struct

from moot.engine import telemetry
from moot.engine.events.hub import read_run_events
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.engine.model_resolution import ResolveModel
from moot.engine.runs.references import ReferenceResolver, load_attachments
from moot.engine.runs.table import DurableStep, RunTable
from moot.engine.runs.transcript import StoredTranscript
from moot.engine.tools.approvals import PendingApprovals
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.tools.session import ToolSession
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import RunContext
from moot.providers.registry import ResolvedModel
from moot.store.database import retry_while_unavailable
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

log = logging.getLogger(__name__)


class RunDeps(Struct, frozen=True, kw_only=True):
    """What the runs of a process share."""

    stores: Stores
    event_writer: EventWriter
    model_caller: ModelCaller
    resolve_model: ResolveModel
    reference_resolver: ReferenceResolver
    tool_catalog: ToolCatalog | None = None


class FinishedRun(NamedTuple):
    lease: RunLease
    turns: Sequence[Message]  # of this revision


class RunExecution:
    """One revision of a run, and the commands for it: stop, retry, approve.

    Commands may arrive before the table exists. They are kept and forwarded when it does.
    """

    def __init__(self, deps: RunDeps, durable_step: DurableStep, run: str, revision: int = 0) -> None:
        self.finished = asyncio.Event()  # set when this process no longer executes the revision
        self._deps = deps
        self._durable_step = durable_step
        self._run = run
        self._revision = revision
        self._stores = deps.stores
        self._stop = StopSignal()
        self._pending_approvals = PendingApprovals()
        self._commands = RunCommands(None, ())
        self._command_lock = asyncio.Lock()
        self._applied_retries: dict[str, int] = {}  # by participant: the revision of its last started retry
        self._table: RunTable | None = None

    async def execute(self) -> FinishedRun | None:
        """Execute the revision until its end; return None if it had already ended."""
        lease = await self._acquire_lease()
        if lease is None:
            return None
        if lease.must_wait:
            await self._wait_for_earlier_runs()
        event_buffer = self._deps.event_writer.open_run(lease)
        transcript = StoredTranscript(event_buffer, lease, (), (), self._load_events)
        earlier_events: Sequence[Event] = ()
        try:
            if lease.seq:
                earlier_events = await self._load_events()
            await event_buffer.append_events([_first_event(lease, earlier_events)])
            transcript, _ = await asyncio.gather(
                self._load_transcript(lease, event_buffer, earlier_events), self.refresh_commands()
            )
            status = await self._run_mode(lease, transcript)
        except Exception:
            # A bug ends this run with a notice. It must not end the worker, nor leave clients waiting.
            log.exception("run failed with an internal error", extra={"run": self._run})
            status = await _fail_run(transcript, "An internal error in Moot ended this run. The log has the details.")
        await event_buffer.end_run(RunEnded(status=status), self._applied_revision())
        telemetry.RUNS_ENDED.labels(lease.plan.mode, status).inc()
        since = max((event.at for event in earlier_events if isinstance(event, RunEnded)), default=0.0)
        turns = [m for m in transcript.messages if m.run == self._run and m.participant and m.created_at > since]
        return FinishedRun(lease, turns)

    async def _acquire_lease(self) -> RunLease | None:
        """Raise the epoch of the run, which fences its previous owner.

        That owner may only seem dead, for example after a network failure. From now on it can write no events.
        """
        try:
            return await self._stores.runs.acquire_lease(self._run, self._stores.worker_id, self._revision)
        except ShuttingDown:  # this worker was deregistered, so another one executes the run
            await wait_forever()

    async def _wait_for_earlier_runs(self) -> None:
        """Poll until earlier runs of the discussion have ended, so that this run sees their messages."""
        until, pause = asyncio.get_running_loop().time() + EARLIER_RUN_SECONDS, FIRST_POLL_SECONDS
        while await self._stores.runs.has_earlier_live_run(self._run):
            if asyncio.get_running_loop().time() > until:
                log.warning("timed out waiting for an earlier run; continuing without it", extra={"run": self._run})
                return
            if await self._stop.sleep_unless_stopped(pause):
                return
            pause = min(2 * pause, MAX_POLL_SECONDS)

    async def _run_mode(self, lease: RunLease, transcript: StoredTranscript) -> RunStatus:
        # Each execution raises the epoch by one, so the epoch counts the crashes too.
        if lease.epoch > MAX_EXECUTIONS * (lease.revision + 1):
            return await _fail_run(transcript, f"This run was restarted {MAX_EXECUTIONS} times and never finished.")
        await self._deps.reference_resolver.resolve_references(lease, transcript, self._stop)
        attachments = await retry_while_unavailable(load_attachments)(self._stores, lease.tenant, transcript.messages)

        async def resolve_model(participant: Participant) -> Sequence[ResolvedModel]:
            return await retry_while_unavailable(self._deps.resolve_model)(lease.tenant, participant.model)

        async with self._open_tool_session(lease) as tool_session:
            context = RunContext(
                run=lease.run,
                discussion=lease.discussion,
                plan=lease.plan,
                revision=lease.revision,
                attachments=attachments,
                transcript=transcript,
                resolve_model=resolve_model,
                model_caller=self._deps.model_caller,
                stop=self._stop,
                tool_session=tool_session,
            )
            self._table = RunTable(context, self._durable_step)
            self._forward_commands(self._table)
            status = await self._table.run_mode()
        await transcript.end_open_turns(self._stop.reason)
        return status

    def _open_tool_session(self, lease: RunLease) -> AbstractAsyncContextManager[ToolSession | None]:
        if self._deps.tool_catalog is None or not any(who.tools for who in lease.plan.participants):
            return nullcontext()
        return self._deps.tool_catalog.open_session(lease, self._pending_approvals)

    async def refresh_commands(self) -> None:
        """Read the commands of users from the database and apply them."""
        async with self._command_lock:  # an older query must not overwrite newer commands
            self._commands = await self._stores.runs.pending_commands(self._run)
        if self._commands.stop_reason is not None:
            self._stop.request_stop(self._commands.stop_reason)
        self._pending_approvals.resolve_decisions(self._commands.approval_decisions)
        if self._table is not None:
            self._forward_commands(self._table)

    def _forward_commands(self, table: RunTable) -> None:
        for participant in self._commands.stopped_participants:
            if participant in table.stop_signals:
                table.stop_signals[participant].request_stop()
        # Only participants that failed in the current stage. Other retries start a new revision after the end.
        for participant, revision in self._pending_retries().items():
            if self._commands.retry and table.retry_participant(participant, self._commands.retry.plan):
                self._applied_retries[participant] = revision

    def _pending_retries(self) -> dict[str, int]:
        """Return the participants that still wait for a retry, with the revision that requested it."""
        requested = self._commands.retry.retries if self._commands.retry else {}
        return {
            participant: revision
            for participant, revision in requested.items()
            if revision > self._applied_retries.get(participant, self._revision)
        }

    def _applied_revision(self) -> int:
        """Return the last revision whose retries have all been started. Later ones keep the run live."""
        if (retry := self._commands.retry) is None:
            return self._revision
        return min([retry.revision, *(due - 1 for due in self._pending_retries().values())])

    @retry_while_unavailable
    async def _load_transcript(
        self, lease: RunLease, event_buffer: RunEventBuffer, earlier_events: Sequence[Event]
    ) -> StoredTranscript:
        messages = await self._load_messages(lease)
        spent_usd = 0.0
        if earlier_events:
            spent_usd = (await self._stores.usage_reports.run_spending(self._run)).cost_usd
        return StoredTranscript(event_buffer, lease, messages, earlier_events, self._load_events, spent_usd)

    async def _load_messages(self, lease: RunLease) -> Sequence[Message]:
        """Load the messages that the run can see. A regenerated answer sees what the original answer saw."""
        discussions = self._stores.discussions
        if (target := lease.plan.regenerate) is None:
            return await discussions.list_messages(lease.discussion, max_position=lease.position)
        before = await discussions.list_messages(
            lease.discussion, before=target.seq, visible_until=target.visible_until
        )
        return (*before, *await discussions.run_messages(self._run))

    @retry_while_unavailable
    async def _load_events(self) -> list[Event]:
        """Load all events of the run, including those of earlier executions."""
        await self._deps.event_writer.flush_events()
        return await read_run_events(self._stores.events, self._run)


async def wait_forever() -> NoReturn:
    """Block until the process exits, so that DBOS leaves the workflow pending for another worker.

    A return would mark the workflow as done, and no worker would execute the run.
    """
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def _fail_run(transcript: StoredTranscript, words: str) -> RunStatus:
    await transcript.end_open_turns(None)
    await transcript.append_events([Notice(kind="gave_up", message=words)])
    return "failed"


def _first_event(lease: RunLease, earlier_events: Sequence[Event]) -> Event:
    if lease.seq == 0:
        target = lease.plan.regenerate
        return RunStarted(participants=lease.plan.participants, regenerates=target.answer if target else UNSET)
    if earlier_events and isinstance(earlier_events[-1], RunEnded):
        return Notice(kind="retried", message="Retrying failed participants. Existing answers are kept.")
    return Notice(kind="resumed", message="The run was interrupted and resumed. Unfinished answers start over.")
