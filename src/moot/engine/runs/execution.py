"""Execution of one revision of a run in this process, from its lease to its end, and the transcript that it stores."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import NamedTuple, NoReturn

from msgspec import UNSET, Struct
from msgspec.structs import replace

from moot.engine import telemetry
from moot.engine.events.hub import read_run_events
from moot.engine.events.writer import EventWriter, RunEventBuffer
from moot.engine.model_resolution import ResolveModel
from moot.engine.runs.interrupted_turns import find_interrupted_turns, interrupted_lanes, interrupted_message
from moot.engine.runs.references import ReferenceResolver, load_attachments
from moot.engine.runs.table import DurableStep, RunTable
from moot.engine.tools.approvals import PendingApprovals
from moot.engine.tools.catalog import ToolCatalog
from moot.engine.tools.session import ToolSession
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.outcomes import turn_charge
from moot.engine.turns.runner import RunContext
from moot.providers.registry import ResolvedModel
from moot.store.database import retry_while_unavailable
from moot.store.runs.runs import RunCommands, RunLease
from moot.store.stores import Stores
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge
from moot.types.debate import Lane
from moot.types.discussions import Message
from moot.types.errors import ShuttingDown
from moot.types.events import (
    ANALYSIS_RESULTS,
    ANSWERED_STATUSES,
    STATUS_BY_STOP_REASON,
    Event,
    Notice,
    RunEnded,
    RunStarted,
    RunStatus,
    StageStarted,
    StopReason,
    TextDelta,
    TurnEnded,
    TurnKey,
    TurnStarted,
)
from moot.types.participants import Participant

MAX_EXECUTIONS = 20  # per revision; a run that crashes its worker each time must not restart forever
EARLIER_RUN_SECONDS = 900.0  # a new message does not interrupt a tool call, which may take minutes
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 0.05, 1.0

LoadEvents = Callable[[], Awaitable[Iterable[Event]]]
log = logging.getLogger(__name__)


class StoredTranscript:
    """A `RunTranscript` in the database.

    `earlier_events` are those of executions before this one, and `spent_usd` is their cost. `load_events` reads all
    events until now. After a crash, the transcript ends or retries interrupted turns, so that each has one end event.
    """

    def __init__(
        self,
        event_buffer: RunEventBuffer,
        lease: RunLease,
        messages: Sequence[Message],
        earlier_events: Sequence[Event],
        load_events: LoadEvents,
        spent_usd: float = 0.0,
    ) -> None:
        self.messages = list(messages)
        self.analysis_results = [event for event in earlier_events if isinstance(event, ANALYSIS_RESULTS)]
        self.spent_usd = spent_usd
        self._event_buffer = event_buffer
        self._lease = lease
        self._started_stages = {
            (event.stage, event.round) for event in earlier_events if isinstance(event, StageStarted)
        }
        # Turns that a crash cut off after clients had received events of them.
        self._interrupted_turns = find_interrupted_turns(earlier_events)
        self._load_events = load_events
        self._open_turns: set[TurnKey] = set()  # started in this execution and not ended

    def has_open_turn(self, turn_key: TurnKey) -> bool:
        return turn_key in self._interrupted_turns or turn_key in self._open_turns

    async def append_events(self, events: list[Event]) -> None:
        fresh = [event for event in events if type(event) is TextDelta or self._register_event(event)]
        if fresh:
            await self._event_buffer.append_events(fresh)

    async def commit_event(
        self, event: Event, message: Message | None = None, *, lanes: Sequence[Lane] = (), charge: Charge | None = None
    ) -> int:
        self.spent_usd += (charge.cost_usd or 0.0) if charge else 0.0
        if isinstance(event, TurnEnded) and message is not None and event.turn_key in self._interrupted_turns:
            # The turn ended before its retry started, for example because a key is missing now.
            event, message = self._end_interrupted_turn(event, message)
            charge = turn_charge(event)
        return await self._commit(event, message, lanes, charge)

    def _end_interrupted_turn(self, turn_end: TurnEnded, message: Message) -> tuple[TurnEnded, Message]:
        """End the turn with the text that clients received before the crash."""
        interrupted = self._interrupted_turns.pop(turn_end.turn_key)
        status = interrupted.status if turn_end.status == "failed" else turn_end.status
        turn_end = replace(interrupted, status=status, fault=turn_end.fault)
        prompt_fields = {name: getattr(message, name) for name in ("view", "visible_until", "instructions")}
        return turn_end, replace(interrupted_message(self._lease, turn_end), **prompt_fields)

    def discard_failed_turns(self, participant: str) -> None:
        messages = [m for m in self.messages if m.run == self._lease.run]
        turns = [m for m in messages if m.participant == participant]
        instructions = [m for m in messages if m.hidden and (m.thread == participant or m.visible_to == (participant,))]
        answered = {(m.stage, m.round) for m in turns if m.status in ANSWERED_STATUSES}
        discarded = [m for m in turns if m.status not in ANSWERED_STATUSES]
        discarded += [m for m in instructions if (m.stage, m.round) not in answered]
        self.messages[:] = [m for m in self.messages if m not in discarded]

    async def end_open_turns(self, reason: StopReason | None) -> None:
        """Commit an end for turns that are not retried, or that an internal error cut off."""
        if self._open_turns:
            self._interrupted_turns = find_interrupted_turns(await self._load_events())
        for interrupted in tuple(self._interrupted_turns.values()):
            turn_end = replace(interrupted, status=STATUS_BY_STOP_REASON[reason]) if reason else interrupted
            message = interrupted_message(self._lease, turn_end)
            await self._commit(turn_end, message, interrupted_lanes(turn_end), turn_charge(turn_end))
        self._interrupted_turns.clear()
        self._open_turns.clear()

    async def _commit(self, event: Event, message: Message | None, lanes: Sequence[Lane], charge: Charge | None) -> int:
        number = await self._event_buffer.commit(event, message, lanes, charge)
        if message is not None:
            self.messages.append(replace(message, seq=number))
        if isinstance(event, ANALYSIS_RESULTS):
            self.analysis_results.append(event)
        if isinstance(event, TurnEnded):
            self._open_turns.discard(event.turn_key)
            telemetry.count_turn(event)
            telemetry.record_turn_span(self._lease.run, event)
        return number

    def _register_event(self, event: Event) -> bool:
        """Return False for the start of a stage that an earlier execution has announced.

        The start event of a retried turn discards the text before the crash, but the provider charged for it.
        """
        if isinstance(event, TurnStarted):
            if (interrupted := self._interrupted_turns.pop(event.turn_key, None)) is not None:
                self._event_buffer.add_charge(turn_charge(interrupted))
            self._open_turns.add(event.turn_key)
        if not isinstance(event, StageStarted):
            return True
        key = (event.stage, event.round)
        known = key in self._started_stages
        self._started_stages.add(key)
        return not known


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
