"""Where discussions are opened and people speak: each message is stored together with the run that it starts."""

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
from moot.services.run_plans import RunPlanner
from moot.services.titles import TitleGenerator
from moot.store.database import Database
from moot.store.discussions.discussions import (
    Discussions,
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
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.debate import DebateOptions
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import ShuttingDown
from moot.types.modes import MAX_LESSON_TURNS, AdvisorOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan

MAX_TITLE_CHARS = 80


class NewDiscussion(Struct, frozen=True, kw_only=True):
    """What somebody wants to discuss, with whom, and how; `cap` is what the first answer may cost.

    `answering` are those who answer first, one after the other, while all hear it; None is as the mode says.
    It is said in a `channel`, where its `author` has a name, or in none.
    """

    message: str
    participants: tuple[Participant, ...]
    mode: str
    rounds: int
    title: str | None = None
    persona: str | None = None
    project: str | None = None
    language: str | None = None
    model: str | None = None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    clerk: str | None = None
    files: tuple[str, ...] = ()
    answering: tuple[str, ...] | None = None
    cap: float | None = None
    channel: str | None = None
    author: str | None = None


class NewMessage(Struct, frozen=True, kw_only=True):
    """What somebody says, and to whom; None is everybody. `cap` is what the answer may cost.

    `answering` are those who answer, one after the other, while all hear it; None is as the discussion is set up.
    It is said in a `channel`, where its `author` has a name, or in none.
    """

    discussion: str
    message: str
    to: tuple[str, ...] | None = None
    answering: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    cap: float | None = None
    channel: str | None = None
    author: str | None = None


class StartedRun(Struct, frozen=True, kw_only=True):
    """What was stored; the run will answer."""

    discussion: Discussion
    message: Message | None
    run: Run


class DiscussionService:
    """`clerk` is that of every discussion which names no other; None is nobody."""

    def __init__(
        self,
        database: Database,
        run_planner: RunPlanner,
        worker: str,
        start: Callable[[str], None],
        attachments: Attachments,
        title_generator: TitleGenerator,
        budget_service: BudgetService,
        channel_memory: ChannelMemory,
        task_model: str | None = None,
    ) -> None:
        self._database = database
        self._discussions = Discussions(database)
        self._run_planner = run_planner
        self._worker = worker
        self._start = start
        self._attachments = attachments
        self._title_generator = title_generator
        self._budget_service = budget_service
        self._channel_memory = channel_memory
        self._task_model = task_model
        self._draining = False

    def drain(self) -> None:
        """Take in nothing new: this process is about to end."""
        self._draining = True

    @property
    def draining(self) -> bool:
        return self._draining

    def reject_if_draining(self) -> None:
        if self._draining:
            raise ShuttingDown("This server is ending: ask again in a moment.")

    async def create(
        self, caller: Caller, new_discussion: NewDiscussion, key: str | None = None
    ) -> StartedRun:
        """Open a discussion with its first message."""
        language = new_discussion.language
        if language is None:
            language = await asyncio.to_thread(detect_language, new_discussion.message)
        discussion = self.draft_discussion(new_discussion, language)
        plan = _limit_responders(
            await self._run_planner.plan_run(caller.tenant, discussion), new_discussion.answering
        )
        plan = await self._add_channel_memory(caller, discussion, plan, new_discussion)
        plan = replace(plan, cap=new_discussion.cap)
        await self._attachments.validate_attachments(caller.tenant, new_discussion.files, plan)
        started = _prepare_run(discussion, plan, new_discussion.message, new_discussion.files)
        taken = await self._store_and_start(caller, started, plan, key, new_discussion, is_new=True)
        is_new = taken.run.id == started.run.id  # and was not taken in before, with the same key
        if is_new and new_discussion.title is None:
            self._title_generator.request_title(_payer_for(caller, taken), discussion, new_discussion.message)
        return taken

    async def send_message(
        self, caller: Caller, new_message: NewMessage, key: str | None = None
    ) -> StartedRun:
        """Say something in a discussion; what is still being said in it comes to an end."""
        discussion = await self._discussions.get_discussion(caller.tenant, new_message.discussion)
        plan = await self._run_planner.plan_run(caller.tenant, discussion, to=new_message.to)
        plan = await self._add_channel_memory(
            caller, discussion, _limit_responders(plan, new_message.answering), new_message
        )
        plan = replace(plan, cap=new_message.cap)
        await self._attachments.validate_attachments(caller.tenant, new_message.files, plan)
        started = _prepare_run(_mark_active(discussion), plan, new_message.message, new_message.files)
        return await self._store_and_start(caller, started, plan, key, new_message)

    async def continue_(
        self, caller: Caller, id: str, turns: int, key: str | None = None, first: str | None = None
    ) -> StartedRun:
        """Let the table go on by itself, beginning with a participant, or the one after the last speaker."""
        discussion = await self._discussions.get_discussion(caller.tenant, id)
        said = await self._discussions.list_messages(id, limit=len(discussion.participants) + 1)
        plan = await self._run_planner.plan_run(caller.tenant, discussion)
        plan = await self._add_channel_memory(
            caller, discussion, _continuation_plan(plan, turns, said, first)
        )
        started = _prepare_run(_mark_active(discussion), plan, None)
        return await self._store_and_start(
            caller, started, plan, key, (id, turns, *([first] if first else ()))
        )

    async def regenerate(
        self, caller: Caller, id: str, plan: RunPlan, key: str | None = None, request: object = None
    ) -> StartedRun:
        """Let an answer be given anew, as planned, unless the table is speaking."""
        discussion = await self._discussions.get_discussion(caller.tenant, id)
        return await self._store_and_start(
            caller, _prepare_run(_mark_active(discussion), plan, None), plan, key, request
        )

    async def _add_channel_memory(
        self,
        caller: Caller,
        discussion: Discussion,
        plan: RunPlan,
        source: NewDiscussion | NewMessage | None = None,
    ) -> RunPlan:
        """Let the table know what was said in its channel before, if it has one."""
        where, who = (source.channel, source.author) if source else (None, None)
        return await self._channel_memory.add_memory_to_plan(caller.tenant, discussion.id, plan, where, who)

    def draft_discussion(self, new_discussion: NewDiscussion, language: str) -> Discussion:
        """Make the discussion that somebody wants, which is stored nowhere yet."""
        return _build_discussion(new_discussion, language, new_discussion.clerk or self._task_model)

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
        """Store all of it or nothing, then let the run begin."""
        self.reject_if_draining()
        due = await self._budget_service.required_reservation(
            caller, plan, started_run.message, None if is_new else started_run.discussion.id
        )
        async with self._database.write() as connection:
            if key is not None:
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
            await self._budget_service.reserve_cost(connection, caller, started_run.run.id, due)
            if started_run.message is not None:
                await lock_files(connection, caller.tenant, started_run.message.files or ())
                number = await add_message(connection, caller.tenant, started_run.message)
                started_run = replace(started_run, message=replace(started_run.message, number=number))
            else:
                await set_last_position(connection, started_run.run.id)
            await notify_discussion_change(self._database, connection, caller.tenant, id)
            if key is not None:
                await store_idempotent_reply(connection, caller.tenant, key, started_run)
        self._start(started_run.run.id)
        return started_run

    async def _reopen_discussion(self, connection: AsyncConnection, started_run: StartedRun) -> None:
        """Make room for a run: those that are still going on end if somebody spoke, and else they are not disturbed."""
        discussion = started_run.discussion
        await lock_discussions(connection, [discussion.id])
        if started_run.message is None:
            await reject_if_live(connection, discussion.id)
        else:
            await interrupt_runs(self._database, connection, discussion.id)
        await reactivate_discussion(connection, discussion.id, discussion.updated_at)


def _build_discussion(new_discussion: NewDiscussion, language: str, task_model: str | None) -> Discussion:
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
        clerk=task_model,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=now,
        updated_at=now,
    )


def _mark_active(discussion: Discussion) -> Discussion:
    return replace(discussion, status="active", updated_at=time.time())


def _payer_for(caller: Caller, started_run: StartedRun) -> Payer:
    return Payer(
        tenant=caller.tenant,
        account=caller.account,
        discussion=started_run.discussion.id,
        run=started_run.run.id,
    )


def _prepare_run(
    discussion: Discussion, plan: RunPlan, text: str | None, files: tuple[str, ...] = ()
) -> StartedRun:
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
            audience=plan.to,
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
            again=plan.again.answer if plan.again else None,
        ),
    )


def _title_from(text: str) -> str:
    """Take the first line as a title, cut at a word."""
    line = next(line.strip() for line in text.splitlines() if line.strip())
    return line if len(line) <= MAX_TITLE_CHARS else f"{line[:MAX_TITLE_CHARS].rsplit(' ', 1)[0]}…"


def _limit_responders(plan: RunPlan, responders: tuple[str, ...] | None) -> RunPlan:
    """Let some answer in turn, each having heard those before, whatever the mode is."""
    return plan if responders is None else replace(plan, mode="consensus", rounds=1, answering=responders)


def _continuation_plan(
    plan: RunPlan, turns: int, messages: tuple[Message, ...], first: str | None
) -> RunPlan:
    """Let a lesson go on as a lesson, and any other table one after the other."""
    if plan.mode == "directed" and first is None:
        return replace(plan, directed=replace(plan.directed, turns=min(turns, MAX_LESSON_TURNS)))
    places = [who.id for who in plan.responding_participants]
    place = places.index(first) if first in places else _next_participant_index(plan, messages)
    return replace(plan, mode="continue", participants=plan.responding_participants, turns=turns, first=place)


def _next_participant_index(plan: RunPlan, messages: tuple[Message, ...]) -> int:
    """Find the place of the participant after the one who spoke last."""
    places = {who.id: place for place, who in enumerate(plan.responding_participants)}
    last = next((places[m.participant] for m in reversed(messages) if m.participant in places), -1)
    return (last + 1) % len(places)
