"""Runs a chat completion, either in memory or in a stored discussion."""

import asyncio
import hashlib
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.events.hub import EventHub, decode_frame
from moot.engine.model_resolution import ModelResolver
from moot.engine.runs.ephemeral import EphemeralRun, EphemeralRuns, check_files
from moot.server.openai.request import CompletionInput, apply_settings, parse_messages, reject_unsupported_fields
from moot.server.openai.schemas import CompletionRequest
from moot.server.openai.virtual_models import VirtualModels
from moot.server.rate_limits import RateLimits
from moot.services.billing import AccountBudgetGuard
from moot.services.discussions import DiscussionService, NewMessage
from moot.services.model_tasks import ModelTasks
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.errors import UsageError, prefix_not_found
from moot.types.events import Event, RunEnded
from moot.types.modes import AdvisorOptions
from moot.types.primitives import new_id
from moot.types.requests import File
from moot.types.run_plan import RunPlan
from moot.types.streams import HEARTBEAT, BatchStream

MAX_MESSAGE_CHARS = 10_000  # of one message in a discussion


class CompletionRun(Struct, frozen=True):
    """A run without a discussion starts when its events are read; a run in a discussion has already started."""

    id: str
    plan: RunPlan
    events: BatchStream[Event]


class CompletionRunner:
    def __init__(
        self,
        stores: Stores,
        virtual_models: VirtualModels,
        model_resolver: ModelResolver,
        ephemeral_runs: EphemeralRuns,
        model_tasks: ModelTasks,
        discussion_service: DiscussionService,
        event_hub: EventHub,
    ) -> None:
        self._virtual_models = virtual_models
        self._model_resolver = model_resolver
        self._ephemeral_runs = ephemeral_runs
        self._model_tasks = model_tasks
        self._budgets = stores.budgets
        self._discussion_service = discussion_service
        self._discussions = stores.discussions
        self._files = stores.files
        self._events = stores.events
        self._runs = stores.runs
        self._event_hub = event_hub

    async def start_completion(
        self, caller: Caller, request: CompletionRequest, limits: RateLimits, key: str | None
    ) -> CompletionRun:
        self._discussion_service.reject_if_draining()
        reject_unsupported_fields(request)
        if request.discussion_id is not None:
            return await self._send_to_discussion(caller, request, request.discussion_id, limits, key)
        plan = await self._virtual_models.plan_run(caller, request.model)
        parsed = await _parse_request(request, plan)
        plan = _apply_request(request, plan, parsed.system)
        chains = await self._model_resolver.resolve_chains(caller.tenant, plan.participants)
        if parsed.all_files:
            try:
                await asyncio.to_thread(check_files, plan, chains, parsed.all_files)
            except UsageError as error:
                raise UsageError(f"messages: {error}") from error
        await self._budgets.reject_if_spent(caller.account)
        await limits.count_message(caller.account)
        await limits.count_run_start(caller.account, plan.mode)
        ephemeral_run = EphemeralRun(
            plan=plan,
            question=parsed.question,
            chains=chains,
            earlier=parsed.history,
            attachments=parsed.history_attachments,
        )
        events = self._ephemeral_runs.stream(ephemeral_run, AccountBudgetGuard(self._model_tasks, caller))
        return CompletionRun(new_id("chatcmpl"), plan, events)

    async def _send_to_discussion(
        self, caller: Caller, request: CompletionRequest, discussion_id: str, limits: RateLimits, key: str | None
    ) -> CompletionRun:
        """Send only the last message: the discussion already has its history."""
        with prefix_not_found("discussion"):
            discussion = await self._discussions.get_discussion(caller.tenant, discussion_id)
        plan = RunPlan(
            mode=discussion.mode,
            participants=discussion.participants,
            rounds=discussion.rounds,
            advisors=discussion.advisors or AdvisorOptions(),
        )
        parsed = await _parse_request(request, plan)
        if len(parsed.question_text) > MAX_MESSAGE_CHARS:
            raise UsageError(f"messages: in a discussion a message has at most {MAX_MESSAGE_CHARS:,} characters.")
        if parsed.question_files and key is not None:
            raise UsageError("messages: files cannot be sent to a discussion with an Idempotency-Key.")
        await limits.count_message(caller.account)
        await limits.count_run_start(caller.account, plan.mode)
        files = tuple([await self._store_file(caller, file) for file in parsed.question_files])
        new_message = NewMessage(discussion=discussion_id, message=parsed.question_text, files=files)
        started = await self._discussion_service.send_message(caller, new_message, key)
        return CompletionRun(started.run.id, plan, self.read_events(caller, started.run.id))

    async def read_events(self, caller: Caller, run: str) -> BatchStream[Event]:
        """Yield the events of a stored run from its start.

        Closing the generator before the run ends stops the run.
        """
        is_over = False
        try:
            progress = await self._events.run_progress(caller.tenant, run)
            async with aclosing(self._event_hub.subscribe(run, 0, progress)) as frames:
                async for batch in frames:
                    events = [decode_frame(frame) for frame in batch]
                    is_over = any(isinstance(event, RunEnded) for event in events)
                    yield events or HEARTBEAT
        finally:
            if not is_over:
                await self._runs.request_stop(caller.tenant, run)

    async def _store_file(self, caller: Caller, file: File) -> str:
        sha256 = hashlib.sha256(file.data).hexdigest()
        stored = await self._files.store_file(
            caller.tenant, caller.account, file.name, file.media_type, sha256, file.data
        )
        return stored.id


async def _parse_request(request: CompletionRequest, plan: RunPlan) -> CompletionInput:
    """Parse in a thread if the request may contain files, because decoding them is slow."""
    if all(isinstance(one.content, str) for one in request.messages):
        return parse_messages(request, plan.participants)
    return await asyncio.to_thread(parse_messages, request, plan.participants)


def _apply_request(request: CompletionRequest, plan: RunPlan, system: str) -> RunPlan:
    """Apply the settings to all participants, and append the system messages to each persona."""
    participants = tuple(apply_settings(request, participant) for participant in plan.participants)
    if not system:
        return replace(plan, participants=participants)
    personas = {one.id: "\n\n".join(filter(None, (plan.personas.get(one.id), system))) for one in participants}
    return replace(plan, participants=participants, personas=personas)
