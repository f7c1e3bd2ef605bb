"""Discussion service: creates discussions, stores messages and starts the runs that answer them.

A message and its run are stored in one transaction.
"""

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.attachments import Attachments
from moot.prompts.language import detect_language
from moot.services.billing import BudgetService
from moot.services.channel_memory import ChannelMemory
from moot.services.run_plans import LibraryPrompts, NewDiscussion, RunPlanner
from moot.services.titles import TitleGenerator
from moot.store.discussions.discussions import (
    add_discussion,
    add_message,
    lock_discussions,
    notify_discussion_change,
    reactivate_discussion,
    reject_if_live,
    set_last_position,
)
from moot.store.discussions.files import lock_files
from moot.store.idempotency import reserve_idempotency_key, store_idempotent_reply
from moot.store.runs.runs import add_run, interrupt_runs
from moot.store.stores import Stores
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import ShuttingDown
from moot.types.modes import MAX_LESSON_TURNS
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan

MAX_TITLE_CHARS = 80


class NewMessage(Struct, frozen=True, kw_only=True):
    """Validated request to send a message in an existing discussion."""

    discussion: str
    message: str
    to: tuple[str, ...] | None = None  # ids of recipients, hidden from all others; None: all participants
    responders: tuple[str, ...] | None = None  # ids of responders, in order; None: by the discussion's mode
    files: tuple[str, ...] = ()  # ids
    max_cost_usd: float | None = None  # maximum cost of the run in US dollars
    channel: str | None = None  # id of the Discord channel that the message comes from
    author: str | None = None  # name of the author in that channel


class StartedRun(Struct, frozen=True, kw_only=True):
    """A stored run with its discussion. Also the stored reply of an idempotent request."""

    discussion: Discussion
    message: Message | None  # None if the run continues or regenerates
    run: Run


class DiscussionService:
    """Entry point for messages. The HTTP routes, the Discord bot and MCP use it."""

    def __init__(
        self,
        stores: Stores,
        run_planner: RunPlanner,
        start: Callable[[str], None],  # executes a stored run by its id; must not block
        attachments: Attachments,
        title_generator: TitleGenerator,
        budget_service: BudgetService,
        channel_memory: ChannelMemory,
        task_model: str | None = None,  # default for discussions without a task model
    ) -> None:
        self._database = stores.database
        self._discussions = stores.discussions
        self._run_planner = run_planner
        self._worker = stores.worker_id
        self._start = start
        self._attachments = attachments
        self._title_generator = title_generator
        self._budget_service = budget_service
        self._channel_memory = channel_memory
        self._task_model = task_model
        self._draining = False

    def drain(self) -> None:
        """Reject new runs from now on, because this process is about to exit."""
        self._draining = True

    @property
    def draining(self) -> bool:
        return self._draining

    def reject_if_draining(self) -> None:
        if self._draining:
            raise ShuttingDown("This server is shutting down. Try again in a moment.")

    async def create(
        self,
        caller: Caller,
        new_discussion: NewDiscussion,
        key: str | None = None,
        prompts: LibraryPrompts | None = None,  # from `RunPlanner.check_draft`
    ) -> StartedRun:
        """Create a discussion and start the run that answers its first message.

        `key` is an idempotency key. A repeated request returns the stored reply and starts nothing.
        """
        language = new_discussion.language
        if language is None:
            language = await asyncio.to_thread(detect_language, new_discussion.message)
        discussion = self.draft_discussion(new_discussion, language)
        plan = await self._run_planner.plan_run(caller.tenant, discussion, prompts=prompts)
        plan = _limit_responders(plan, new_discussion.responders)
        plan = await self._add_channel_memory(caller, discussion, plan, new_discussion)
        plan = replace(plan, max_cost_usd=new_discussion.max_cost_usd)
        await self._attachments.validate_attachments(caller.tenant, new_discussion.files, plan)
        started = _prepare_run(discussion, plan, new_discussion.message, new_discussion.files)
        stored = await self._store_and_start(caller, started, plan, key, new_discussion, is_new=True)
        is_new = stored.run.id == started.run.id  # False if the key returned an earlier reply
        if is_new and new_discussion.title is None:
            payer = Payer(tenant=caller.tenant, account=caller.account, discussion=discussion.id, run=stored.run.id)
            self._title_generator.request_title(payer, discussion, new_discussion.message)
        return stored

    async def send_message(self, caller: Caller, new_message: NewMessage, key: str | None = None) -> StartedRun:
        """Store a message and start a run. Live runs of the discussion are interrupted.

        Raises OverBudget if the estimate is more than the budget has left; then nothing is stored or interrupted.
        """
        discussion = await self._discussions.get_discussion(caller.tenant, new_message.discussion)
        plan = await self._run_planner.plan_run(caller.tenant, discussion, to=new_message.to)
        plan = await self._add_channel_memory(
            caller, discussion, _limit_responders(plan, new_message.responders), new_message
        )
        plan = replace(plan, max_cost_usd=new_message.max_cost_usd)
        await self._attachments.validate_attachments(caller.tenant, new_message.files, plan)
        started = _prepare_run(_mark_active(discussion), plan, new_message.message, new_message.files)
        return await self._store_and_start(caller, started, plan, key, new_message)

    async def continue_(
        self, caller: Caller, id: str, turns: int, key: str | None = None, first: str | None = None
    ) -> StartedRun:
        """Start a run of `turns` turns without a message. Raises Conflict while another run is live.

        The first speaker is `first`, or the participant after the last speaker.
        """
        discussion = await self._discussions.get_discussion(caller.tenant, id)
        messages = await self._discussions.list_messages(id, limit=len(discussion.participants) + 1)
        plan = await self._run_planner.plan_run(caller.tenant, discussion)
        plan = await self._add_channel_memory(caller, discussion, _continuation_plan(plan, turns, messages, first))
        started = _prepare_run(_mark_active(discussion), plan, None)
        return await self._store_and_start(caller, started, plan, key, (id, turns, *([first] if first else ())))

    async def regenerate(
        self, caller: Caller, id: str, plan: RunPlan, key: str | None = None, request: object = None
    ) -> StartedRun:
        """Start a run that regenerates one answer. Raises Conflict while another run is live.

        `request` identifies the request for the idempotency key.
        """
        discussion = await self._discussions.get_discussion(caller.tenant, id)
        return await self._store_and_start(
            caller, _prepare_run(_mark_active(discussion), plan, None), plan, key, request
        )

    async def _add_channel_memory(
        self, caller: Caller, discussion: Discussion, plan: RunPlan, source: NewDiscussion | NewMessage | None = None
    ) -> RunPlan:
        channel, author = (source.channel, source.author) if source else (None, None)
        return await self._channel_memory.add_memory_to_plan(caller.tenant, discussion.id, plan, channel, author)

    def draft_discussion(self, new_discussion: NewDiscussion, language: str) -> Discussion:
        """Build a discussion without storing it."""
        now = time.time()
        return Discussion(
            id=new_id("dis"),
            title=new_discussion.title or _title_from(new_discussion.message),
            status="active",
            mode=new_discussion.mode,
            participants=new_discussion.participants,
            rounds=new_discussion.rounds,
            persona=new_discussion.persona,
            project=new_discussion.project,
            language=language,
            model=new_discussion.model,
            debate=new_discussion.debate,
            advisors=new_discussion.advisors,
            directed=new_discussion.directed,
            task_model=new_discussion.task_model or self._task_model,
            summary=None,
            usefulness=None,
            exported_at=None,
            created_at=now,
            updated_at=now,
        )

    async def _store_and_start(
        self,
        caller: Caller,
        started_run: StartedRun,
        plan: RunPlan,
        key: str | None,
        request: object,
        *,
        is_new: bool = False,
    ) -> StartedRun:
        """Store everything in one transaction, then start the run."""
        self.reject_if_draining()
        # Before the transaction: the forecast reads all messages, and must not hold locks meanwhile.
        reservation = await self._budget_service.required_reservation(
            caller, plan, started_run.message, None if is_new else started_run.discussion.id
        )
        async with self._database.write() as connection:
            if key is not None:
                # A concurrent request with the same key waits here until the first one commits.
                earlier = await reserve_idempotency_key(
                    self._database, connection, caller.tenant, key, request, StartedRun
                )
                if earlier is not None:
                    return earlier
            id = started_run.discussion.id
            if is_new:
                await add_discussion(connection, caller.tenant, caller.account, started_run.discussion)
            else:
                await self._reopen_discussion(connection, started_run)
            payer = Payer(tenant=caller.tenant, account=caller.account)
            await add_run(connection, payer, started_run.run, plan, self._worker)
            await self._budget_service.reserve_cost(connection, caller, started_run.run.id, reservation)
            if started_run.message is not None:
                # Without the lock, a file could be deleted between its validation and the commit.
                await lock_files(connection, caller.tenant, started_run.message.files or ())
                number = await add_message(connection, caller.tenant, started_run.message)
                started_run = replace(started_run, message=replace(started_run.message, seq=number))
            else:
                await set_last_position(connection, started_run.run.id)
            await notify_discussion_change(self._database, connection, caller.tenant, id)
            if key is not None:
                await store_idempotent_reply(connection, caller.tenant, key, started_run)
        # After the commit, so that the executor finds the run.
        self._start(started_run.run.id)
        return started_run

    async def _reopen_discussion(self, connection: AsyncConnection, started_run: StartedRun) -> None:
        """Interrupt live runs for a new message. Without one, raise Conflict if a run is live."""
        discussion = started_run.discussion
        # The lock serializes requests, so that no other run starts between this check and the commit.
        await lock_discussions(connection, [discussion.id])
        if started_run.message is None:
            await reject_if_live(connection, discussion.id)
        else:
            await interrupt_runs(self._database, connection, discussion.id)
        await reactivate_discussion(connection, discussion.id, discussion.updated_at)


def _mark_active(discussion: Discussion) -> Discussion:
    return replace(discussion, status="active", updated_at=time.time())


def _prepare_run(discussion: Discussion, plan: RunPlan, text: str | None, files: tuple[str, ...] = ()) -> StartedRun:
    now = time.time()
    run = new_id("run")
    message = None
    if text is not None:
        message = Message(
            id=new_id("msg"),
            discussion=discussion.id,
            run=run,
            role="user",
            content=text,
            visible_to=plan.to,
            files=tuple(dict.fromkeys(files)) or None,
            created_at=now,
        )
    return StartedRun(
        discussion=discussion,
        message=message,
        run=Run(
            id=run,
            discussion=discussion.id,
            message=message.id if message else None,
            mode=plan.mode,
            status="waiting",
            created_at=now,
            regenerates=plan.regenerate.answer if plan.regenerate else None,
        ),
    )


def _title_from(text: str) -> str:
    """Return the first line that is not empty, cut at a word."""
    line = next(line.strip() for line in text.splitlines() if line.strip())
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[:MAX_TITLE_CHARS].rsplit(' ', 1)[0]}…"


def _limit_responders(plan: RunPlan, responders: tuple[str, ...] | None) -> RunPlan:
    """Let only `responders` answer. They use one round of consensus, so that each sees the answers before it."""
    return plan if responders is None else replace(plan, mode="consensus", rounds=1, responders=responders)


def _continuation_plan(plan: RunPlan, turns: int, messages: tuple[Message, ...], first: str | None) -> RunPlan:
    """Keep a lesson directed, unless `first` is set. In other modes participants speak one after the other."""
    if plan.spec.continues == "as_itself" and first is None:
        return replace(plan, directed=replace(plan.directed, turns=min(turns, MAX_LESSON_TURNS)))
    places = [who.id for who in plan.responding_participants]
    place = places.index(first) if first in places else _next_participant_index(plan, messages)
    return replace(plan, mode="continue", participants=plan.responding_participants, turns=turns, first_position=place)


def _next_participant_index(plan: RunPlan, messages: tuple[Message, ...]) -> int:
    """Return the index after the last speaker; 0 if there is none."""
    places = {who.id: place for place, who in enumerate(plan.responding_participants)}
    last = next((places[m.participant] for m in reversed(messages) if m.participant in places), -1)
    return (last + 1) % len(places)
