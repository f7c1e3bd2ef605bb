import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NoReturn

import pytest
from msgspec.structs import replace
from sqlalchemy import func, select, text, update
from sqlalchemy.exc import IntegrityError

from moot.engine.attachments import Attachments
from moot.engine.turns.token_estimates import ContextLimits
from moot.providers.catalog import ProviderConfig
from moot.providers.keys import KeyRing
from moot.providers.registry import Registry, ResolvedModel
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Script, Scripts
from moot.services import discussions as module
from moot.services.billing import BudgetService
from moot.services.channel_memory import ChannelMemory
from moot.services.discussions import MAX_TITLE_CHARS, DiscussionService, NewMessage, StartedRun
from moot.services.model_tasks import ModelTasks
from moot.services.run_plans import NewDiscussion, RunPlanner
from moot.services.titles import TitleGenerator
from moot.store.billing.usage import TokenRates
from moot.store.database import Database
from moot.store.discord.memories import ChannelMemories
from moot.store.discussions.discussions import Discussions, add_message, lock_discussions
from moot.store.discussions.files import Files
from moot.store.rate_limits import RateLimiter
from moot.store.runs.runs import RunCommands, Runs
from moot.store.schema.discussions import discussion, message
from moot.store.schema.runs import run
from moot.store.schema.server import idempotency_key
from moot.types.accounts import Caller
from moot.types.discussions import Discussion, Message
from moot.types.errors import Conflict, NotFound, OverBudget, ShuttingDown, UsageError
from moot.types.participants import make_participants
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, BERT, create_accounts
from tests.support.databases import ON_BOTH_DATABASES
from tests.support.runs import WORKER, lease_run, register_workers
from tests.support.stores import make_run_planner, make_stores
from tests.support.table_harness import MODEL_CALLER, RecordingProvider
from tests.support.waiting import WAIT_TIMEOUT_SECONDS, collect_notifications, wait_until

GERMAN = "Warum haben die meisten Tische vier Beine und nicht drei?"
TEXT_ONLY_PROVIDER = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1")
CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
OTHER_CALLER = Caller(account=BERT, tenant=BERT, name="Bert", kind="session")
NEW_DISCUSSION = NewDiscussion(
    message="Why are tables round?",
    participants=make_participants(("a/one", "b/two", "c/three")),
    mode="single",
    rounds=2,
)


class StepFailed(Exception):
    pass


class DiscussionHarness:
    """A discussion service, the runs that it started, and helpers that read the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.budget: float | None = None
        self.task_model: str | None = None
        self.started_runs: list[str] = []
        self.discussions = Discussions(database)
        self.runs = Runs(database)
        self.context_limits = ContextLimits(TokenRates(database), Registry({}, {}), {})
        self.run_planner = make_run_planner(database)
        self.files = Files(database)
        self.provider = RecordingProvider({"task-model": Script(answer="Tables and chairs")})
        model_tasks = ModelTasks(make_stores(database), MODEL_CALLER)
        self.title_generator = TitleGenerator(database, self._resolve_model, model_tasks, RateLimiter(database))
        self.channel_memory = ChannelMemory(ChannelMemories(database), self._resolve_model, model_tasks)
        self.service = self.make_service(self.run_planner, self.started_runs.append)

    def make_service(self, run_planner: RunPlanner, start: Callable[[str], None]) -> DiscussionService:
        registry = Registry({"blind": TEXT_ONLY_PROVIDER}, {})
        attachments = Attachments(self.files, registry)
        stores = make_stores(self.database, self.budget)
        return DiscussionService(
            stores,
            run_planner,
            start,
            attachments,
            self.title_generator,
            BudgetService(stores, resolve_priced_model),
            self.channel_memory,
            self.task_model,
        )

    async def _resolve_model(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def store_file(self, data: bytes = b"words", media_type: str = "text/plain", owner: str = ANNA) -> str:
        return (await self.files.store_file(owner, owner, "a.txt", media_type, data.hex(), data)).id

    async def create(self, content: str = "Why are tables round?", key: str | None = None, **fields: Any) -> StartedRun:
        return await self.service.create(CALLER, replace(NEW_DISCUSSION, message=content, **fields), key)

    async def send_message(
        self, id: str, content: str, *, key: str | None = None, to: Sequence[str] = ()
    ) -> StartedRun:
        saying = NewMessage(discussion=id, message=content, to=tuple(to) or None)
        return await self.service.send_message(CALLER, saying, key)

    async def pending_commands(self, started: StartedRun) -> RunCommands:
        return await self.runs.pending_commands(started.run.id)

    async def plan(self, started: StartedRun) -> RunPlan:
        return await self.runs.get_plan(started.run.id)

    async def complete_all_runs(self) -> None:
        """Mark all runs as completed."""
        async with self.database.write() as connection:
            await connection.execute(update(run).values(status="completed"))

    async def add_answer(self, started: StartedRun, participant: str) -> None:
        answer = Message(
            id=new_id("msg"),
            discussion=started.discussion.id,
            run=started.run.id,
            role="assistant",
            content="Because.",
            participant=participant,
            name=participant.title(),
            stage="answer",
        )
        async with self.database.write() as connection:
            await add_message(connection, ANNA, answer)

    async def count_rows(self) -> dict[str, int]:
        counted: dict[str, int] = {}
        async with self.database.read() as connection:
            for table in (discussion, message, run, idempotency_key):
                query = select(func.count()).select_from(table)
                counted[table.name] = (await connection.execute(query)).scalar_one()
        return counted


@pytest.fixture
async def harness(database: Database) -> DiscussionHarness:
    await create_accounts(database)
    await register_workers(database, WORKER)
    return DiscussionHarness(database)


NO_ROWS = {"discussion": 0, "message": 0, "run": 0, "idempotency_key": 0}
ONE_DISCUSSION_ROWS = {"discussion": 1, "message": 1, "run": 1, "idempotency_key": 0}


async def test_create_stores_discussion_message_and_run_and_starts_the_run(
    harness: DiscussionHarness,
) -> None:
    started = await harness.create()
    id = started.discussion.id
    assert await harness.discussions.get_discussion(ANNA, id) == started.discussion
    assert await harness.discussions.list_messages(id) == (started.message,)
    assert await harness.runs.get_run(ANNA, started.run.id) == started.run
    assert started.message is not None
    assert [one.rpartition("_")[0] for one in (id, started.run.id, started.message.id)] == [
        "dis",
        "run",
        "msg",
    ]
    assert (started.message.role, started.message.content) == ("user", "Why are tables round?")
    assert (started.message.run, started.run.message) == (started.run.id, started.message.id)
    assert (started.run.mode, started.run.status) == ("single", "waiting")
    assert await harness.plan(started) == RunPlan(
        mode="single", participants=NEW_DISCUSSION.participants, language="en"
    )
    assert harness.started_runs == [started.run.id]
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS


@ON_BOTH_DATABASES
async def test_run_starts_only_after_commit(harness: DiscussionHarness) -> None:
    seen: list[str] = []

    async def look(id: str) -> str:
        async with Database(harness.database.url) as elsewhere:
            found = await Runs(elsewhere).get_run(ANNA, id)
            messages = await Discussions(elsewhere).list_messages(found.discussion)
            return messages[-1].content

    def start(id: str) -> None:
        with ThreadPoolExecutor(1) as thread:
            seen.append(thread.submit(asyncio.run, look(id)).result())

    discussion_service = harness.make_service(harness.run_planner, start)
    started = await discussion_service.create(CALLER, NEW_DISCUSSION)
    await discussion_service.send_message(CALLER, NewMessage(discussion=started.discussion.id, message="And square?"))
    assert seen == ["Why are tables round?", "And square?"]


@pytest.mark.parametrize(
    ("words", "title"),
    [
        ("Why?", "Why?"),
        ("\n  \n  Round tables  \nor square ones?", "Round tables"),
        ("w" * MAX_TITLE_CHARS, "w" * MAX_TITLE_CHARS),
        ("w" * (MAX_TITLE_CHARS + 1), "w" * MAX_TITLE_CHARS + "…"),
        ("table " * 14, "table " * 12 + "table…"),
    ],
)
async def test_create_uses_first_line_as_title_cut_at_a_word(
    harness: DiscussionHarness, words: str, title: str
) -> None:
    assert (await harness.create(words)).discussion.title == title


async def test_create_keeps_given_title(harness: DiscussionHarness) -> None:
    assert (await harness.create(title="Furniture")).discussion.title == "Furniture"


async def test_create_detects_language_of_first_message_and_keeps_it(harness: DiscussionHarness) -> None:
    first = await harness.create(GERMAN)
    assert first.discussion.language == "de"
    second = await harness.send_message(first.discussion.id, "And now in English, please: why are tables round?")
    assert second.discussion.language == "de"
    assert [(await harness.plan(started)).language for started in (first, second)] == ["de", "de"]


async def test_create_prefers_given_language(harness: DiscussionHarness) -> None:
    started = await harness.create(GERMAN, language="fr")
    assert started.discussion.language == "fr"
    assert (await harness.plan(started)).language == "fr"


@ON_BOTH_DATABASES
@pytest.mark.parametrize(
    "step", ["add_discussion", "add_run", "add_message", "notify_discussion_change", "store_idempotent_reply"]
)
async def test_failed_create_stores_nothing(
    harness: DiscussionHarness, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, step, fail_step)
        with pytest.raises(StepFailed):
            await harness.create(key="key")
    assert await harness.count_rows() == NO_ROWS
    assert harness.started_runs == []
    started = await harness.create(key="key")
    assert harness.started_runs == [started.run.id]


async def fail_step(*_: object) -> NoReturn:
    raise StepFailed


@pytest.mark.parametrize("step", ["add_run", "add_message", "store_idempotent_reply"])
async def test_failed_send_message_changes_nothing(
    harness: DiscussionHarness, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    started = await harness.create()
    archived = await harness.discussions.update_discussion(ANNA, started.discussion.id, {"status": "archived"})
    monkeypatch.setattr(module, step, fail_step)
    with pytest.raises(StepFailed):
        await harness.send_message(archived.id, "And square?", key="key")
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS
    assert await harness.pending_commands(started) == RunCommands(None, ())
    assert await harness.discussions.get_discussion(ANNA, archived.id) == archived
    assert harness.started_runs == [started.run.id]


@ON_BOTH_DATABASES
async def test_create_with_deleted_project_stores_nothing(harness: DiscussionHarness) -> None:
    with pytest.raises(IntegrityError):
        await harness.create(project="project_gone", key="key")
    assert await harness.count_rows() == NO_ROWS
    assert harness.started_runs == []


@ON_BOTH_DATABASES
async def test_send_message_fails_when_discussion_is_deleted_concurrently(harness: DiscussionHarness) -> None:
    class Deleting(RunPlanner):
        async def plan_run(self, tenant: str, discussion: Discussion, *args: Any, **options: Any) -> RunPlan:
            await harness.discussions.delete_discussion(tenant, discussion.id)
            return await harness.run_planner.plan_run(tenant, discussion, *args, **options)

    started = await harness.create()
    await harness.complete_all_runs()
    planning = make_run_planner(harness.database, cls=Deleting)
    discussion_service = harness.make_service(planning, harness.started_runs.append)
    with pytest.raises(IntegrityError):
        await discussion_service.send_message(
            CALLER, NewMessage(discussion=started.discussion.id, message="And square?"), "key"
        )
    assert await harness.count_rows() == NO_ROWS
    assert harness.started_runs == [started.run.id]


async def test_message_to_some_participants_is_visible_to_them_alone(harness: DiscussionHarness) -> None:
    started = await harness.create()
    assert started.message is not None
    assert started.message.visible_to is None
    aside = await harness.send_message(started.discussion.id, "Between us:", to=("gamma", "alpha"))
    *_, last = await harness.discussions.list_messages(started.discussion.id)
    assert (last.content, last.visible_to) == ("Between us:", ("gamma", "alpha"))
    assert last == aside.message
    plan = await harness.plan(aside)
    assert plan.to == ("gamma", "alpha")
    assert [who.id for who in plan.responding_participants] == ["alpha", "gamma"]


async def test_send_message_rejects_unknown_recipient(harness: DiscussionHarness) -> None:
    started = await harness.create()
    with pytest.raises(UsageError, match="alpha, beta, gamma"):
        await harness.send_message(started.discussion.id, "Hello?", to=("delta",))
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS


@ON_BOTH_DATABASES
async def test_send_message_interrupts_live_run(harness: DiscussionHarness) -> None:
    async with collect_notifications(harness.database, "moot_control") as control:
        first = await harness.create()
        await lease_run(harness.database, first.run.id)
        second = await harness.send_message(first.discussion.id, "And square?")
        assert await harness.pending_commands(first) == RunCommands("follow_up_interrupt", ())
        assert await harness.pending_commands(second) == RunCommands(None, ())
        await wait_until(lambda: bool(control))
    assert control == [first.run.id]
    assert harness.started_runs == [first.run.id, second.run.id]


async def test_send_message_does_not_interrupt_ended_or_stopped_run(harness: DiscussionHarness) -> None:
    first = await harness.create()
    await harness.complete_all_runs()
    second = await harness.send_message(first.discussion.id, "And square?")
    await harness.runs.request_stop(ANNA, second.run.id)
    await harness.send_message(first.discussion.id, "And oval?")
    assert await harness.pending_commands(first) == RunCommands(None, ())
    assert await harness.pending_commands(second) == RunCommands("stopped_by_user", ())


async def test_send_message_does_not_interrupt_other_discussions(harness: DiscussionHarness) -> None:
    first, other = await harness.create(), await harness.create()
    await harness.send_message(first.discussion.id, "And square?")
    assert await harness.pending_commands(other) == RunCommands(None, ())


@ON_BOTH_DATABASES
async def test_concurrent_messages_leave_one_run_uninterrupted(harness: DiscussionHarness) -> None:
    started = await harness.create()
    sent = await asyncio.gather(*(harness.send_message(started.discussion.id, f"{n}?") for n in range(6)))
    stop_reasons = [(await harness.pending_commands(one)).stop_reason for one in (started, *sent)]
    assert sorted(map(str, stop_reasons)) == ["None", *["follow_up_interrupt"] * 6]


@ON_BOTH_DATABASES
async def test_send_message_does_not_deadlock_with_ending_run(
    harness: DiscussionHarness,
) -> None:
    """An ending run locks its discussion first, and so does a message that interrupts it."""
    started = await harness.create()
    async with harness.database.write() as connection:
        await lock_discussions(connection, [started.discussion.id])
        sending = asyncio.create_task(harness.send_message(started.discussion.id, "And square?"))
        await asyncio.wait_for(wait_for_blocked_statement(harness.database), WAIT_TIMEOUT_SECONDS)
        await connection.execute(update(run).where(run.c.id == started.run.id).values(status="completed"))
    await sending
    assert await harness.pending_commands(started) == RunCommands(None, ())


async def wait_for_blocked_statement(database: Database) -> None:
    """Wait until a statement waits for a lock. On SQLite every writer waits for the only one."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while database.is_postgres:
        async with database.read() as connection:
            if (await connection.execute(waiting)).scalar_one():
                return
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("status", ["archived", "completed"])
async def test_send_message_reactivates_archived_or_completed_discussion(
    harness: DiscussionHarness, status: str
) -> None:
    started = await harness.create()
    away = await harness.discussions.update_discussion(ANNA, started.discussion.id, {"status": status})
    sent = await harness.send_message(away.id, "And square?")
    now = await harness.discussions.get_discussion(ANNA, away.id)
    assert now.status == "active"
    assert now.updated_at >= away.updated_at
    assert sent.discussion == now


@ON_BOTH_DATABASES
async def test_every_new_run_notifies_discussion_changes(harness: DiscussionHarness) -> None:
    async with collect_notifications(harness.database, "moot_changes") as changes:
        started = await harness.create()
        await harness.send_message(started.discussion.id, "And square?")
        await harness.complete_all_runs()
        await harness.service.continue_(CALLER, started.discussion.id, 1)
        await wait_until(lambda: len(changes) >= 3)
    assert changes == [f"{ANNA} {started.discussion.id}"] * 3


@pytest.mark.parametrize(
    ("spoke", "first"),
    [
        ((), 0),
        (("alpha",), 1),
        (("alpha", "beta"), 2),
        (("alpha", "beta", "gamma"), 0),
        (("gamma", "beta", "alpha"), 1),
        (("alpha", "somebody-who-left"), 1),
    ],
)
async def test_continue_starts_after_last_speaker(
    harness: DiscussionHarness, spoke: tuple[str, ...], first: int
) -> None:
    started = await harness.create()
    for participant in spoke:
        await harness.add_answer(started, participant)
    await harness.complete_all_runs()
    continued = await harness.service.continue_(CALLER, started.discussion.id, 7)
    plan = await harness.plan(continued)
    assert (plan.mode, plan.turns, plan.first_position) == ("continue", 7, first)
    assert (continued.message, continued.run.message, continued.run.mode) == (None, None, "continue")
    assert harness.started_runs == [started.run.id, continued.run.id]


async def test_continue_starts_with_requested_participant(harness: DiscussionHarness) -> None:
    started = await harness.create()
    await harness.complete_all_runs()
    await harness.add_answer(started, "alpha")
    continued = await harness.service.continue_(CALLER, started.discussion.id, 1, first="gamma")
    plan = await harness.plan(continued)
    assert (plan.mode, plan.turns, plan.responding_participants[plan.first_position].id) == ("continue", 1, "gamma")


async def test_responders_answer_in_turn_and_message_is_visible_to_all(harness: DiscussionHarness) -> None:
    opened = await harness.create(responders=("gamma", "alpha"))
    saying = NewMessage(discussion=opened.discussion.id, message="And square?", responders=("beta",))
    sent = await harness.service.send_message(CALLER, saying)
    for started, answering in ((opened, ["gamma", "alpha"]), (sent, ["beta"])):
        plan = await harness.plan(started)
        assert (plan.mode, plan.rounds, [who.id for who in plan.responding_participants]) == (
            "consensus",
            1,
            answering,
        )
        assert started.message is not None
        assert started.message.visible_to is None
    assert opened.discussion.mode == "single"


async def test_continue_skips_inactive_advisors(harness: DiscussionHarness) -> None:
    participants = tuple(replace(who, active=who.id != "alpha") for who in NEW_DISCUSSION.participants)
    started = await harness.create(mode="advisors", participants=participants)
    await harness.add_answer(started, "beta")
    await harness.complete_all_runs()
    plan = await harness.plan(await harness.service.continue_(CALLER, started.discussion.id, 1))
    assert [who.id for who in plan.responding_participants] == ["beta", "gamma"]
    assert plan.responding_participants[plan.first_position].id == "gamma"


async def test_continue_reactivates_archived_discussion(harness: DiscussionHarness) -> None:
    started = await harness.create()
    await harness.complete_all_runs()
    await harness.discussions.update_discussion(ANNA, started.discussion.id, {"status": "archived"})
    continued = await harness.service.continue_(CALLER, started.discussion.id, 1)
    assert await harness.discussions.get_discussion(ANNA, started.discussion.id) == continued.discussion
    assert continued.discussion.status == "active"


async def test_continue_is_rejected_while_a_run_is_live(harness: DiscussionHarness) -> None:
    started = await harness.create()
    with pytest.raises(Conflict, match=f"Wait for run {started.run.id}, or stop it first"):
        await harness.service.continue_(CALLER, started.discussion.id, 1)
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS
    assert await harness.pending_commands(started) == RunCommands(None, ())


@ON_BOTH_DATABASES
async def test_concurrent_continue_starts_one_run(harness: DiscussionHarness) -> None:
    started = await harness.create()
    await harness.complete_all_runs()
    requests = (harness.service.continue_(CALLER, started.discussion.id, 1) for _ in range(4))
    ends = await asyncio.gather(*requests, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Conflict", "Conflict", "StartedRun"]


@ON_BOTH_DATABASES
async def test_draining_service_rejects_new_work(harness: DiscussionHarness) -> None:
    started = await harness.create()
    await harness.complete_all_runs()
    harness.service.drain()
    for work in (
        harness.create(),
        harness.send_message(started.discussion.id, "And square?"),
        harness.service.continue_(CALLER, started.discussion.id, 1),
    ):
        with pytest.raises(ShuttingDown, match="Try again in a moment"):
            await work
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS
    assert harness.started_runs == [started.run.id]


async def test_other_tenant_cannot_send_message_or_continue(harness: DiscussionHarness) -> None:
    id = (await harness.create()).discussion.id
    for request in (
        harness.service.send_message(OTHER_CALLER, NewMessage(discussion=id, message="Hello?")),
        harness.service.continue_(OTHER_CALLER, id, 1),
    ):
        with pytest.raises(NotFound, match=id):
            await request
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS


async def test_repeated_request_with_same_key_returns_same_reply(
    harness: DiscussionHarness,
) -> None:
    opened = await harness.create(key="one")
    assert await harness.create(key="one") == opened
    sent = await harness.send_message(opened.discussion.id, "And square?", key="two")
    assert await harness.send_message(opened.discussion.id, "And square?", key="two") == sent
    await harness.complete_all_runs()
    continued = await harness.service.continue_(CALLER, opened.discussion.id, 3, "three")
    assert await harness.service.continue_(CALLER, opened.discussion.id, 3, "three") == continued
    assert await harness.pending_commands(continued) == RunCommands(None, ())
    assert await harness.count_rows() == {"discussion": 1, "message": 2, "run": 3, "idempotency_key": 3}
    assert harness.started_runs == [opened.run.id, sent.run.id, continued.run.id]


@ON_BOTH_DATABASES
async def test_concurrent_requests_with_same_key_are_executed_once(harness: DiscussionHarness) -> None:
    opened = await asyncio.gather(*(harness.create(key="one") for _ in range(4)))
    assert opened == [opened[0]] * 4
    sent = await asyncio.gather(
        *(harness.send_message(opened[0].discussion.id, "And square?", key="two") for _ in range(4))
    )
    assert sent == [sent[0]] * 4
    assert await harness.count_rows() == {"discussion": 1, "message": 2, "run": 2, "idempotency_key": 2}
    assert harness.started_runs == [opened[0].run.id, sent[0].run.id]


async def test_key_is_rejected_for_different_request(harness: DiscussionHarness) -> None:
    opened = await harness.create(key="key")
    id = opened.discussion.id
    for other in (
        harness.create("Why are tables square?", key="key"),
        harness.create(key="key", mode="parallel"),
        harness.send_message(id, "Why are tables round?", key="key"),
        harness.service.continue_(CALLER, id, 1, "key"),
    ):
        with pytest.raises(Conflict, match="used for another request"):
            await other
    assert await harness.pending_commands(opened) == RunCommands(None, ())
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS | {"idempotency_key": 1}


async def test_keys_belong_to_their_tenant(harness: DiscussionHarness) -> None:
    mine = await harness.create(key="key")
    theirs = await harness.service.create(OTHER_CALLER, NEW_DISCUSSION, "key")
    assert theirs.discussion.id != mine.discussion.id
    assert theirs.run.id != mine.run.id
    assert await harness.discussions.get_discussion(BERT, theirs.discussion.id) == theirs.discussion


async def test_message_stores_its_files_without_duplicates(harness: DiscussionHarness) -> None:
    one, two = await harness.store_file(), await harness.store_file(b"more")
    started = await harness.create(files=(one, two, one))
    assert started.message is not None
    assert started.message.files == (one, two)
    sent = await harness.service.send_message(
        CALLER, NewMessage(discussion=started.discussion.id, message="And this?", files=(two,))
    )
    stored = await harness.discussions.list_messages(started.discussion.id)
    assert [message.files for message in stored] == [(one, two), (two,)]
    assert stored[-1] == sent.message


async def test_unknown_file_is_rejected_and_nothing_is_stored(harness: DiscussionHarness) -> None:
    mine, hers = await harness.store_file(), await harness.store_file(owner=BERT)
    for wrong in (hers, "file_none"):
        with pytest.raises(NotFound, match=rf"^files\[1\]: There is no file '{wrong}'"):
            await harness.create(files=(mine, wrong), key="once")
    assert await harness.count_rows() == NO_ROWS


@ON_BOTH_DATABASES
async def test_file_deleted_during_send_is_rejected(harness: DiscussionHarness) -> None:
    id = await harness.store_file()

    class Deleting(Attachments):
        async def validate_attachments(self, tenant: str, ids: Sequence[str], plan: RunPlan) -> None:
            await super().validate_attachments(tenant, ids, plan)
            await harness.files.delete_file(tenant, id)

    harness.service._attachments = Deleting(harness.files, Registry({}, {}))
    with pytest.raises(NotFound, match=r"^files\[0\]"):
        await harness.create(files=(id,))
    assert await harness.count_rows() == NO_ROWS
    assert harness.started_runs == []


async def test_create_and_send_message_reject_file_that_recipient_cannot_read(
    harness: DiscussionHarness,
) -> None:
    image = await harness.store_file(b"\x89PNG\r\n\x1a\n", "image/png")
    table = make_participants(("blind/gpt-5", "blind/deepseek-chat"))
    with pytest.raises(UsageError, match=r"^files\[0\]: Beta \(blind/deepseek-chat\) takes no image files"):
        await harness.create(participants=table, files=(image,))
    assert await harness.count_rows() == NO_ROWS
    started = await harness.create(participants=table)
    saying = NewMessage(discussion=started.discussion.id, message="Look.", files=(image,))
    with pytest.raises(UsageError, match=r"^files\[0\]: Beta"):
        await harness.service.send_message(CALLER, saying)
    await harness.service.send_message(CALLER, replace(saying, to=("alpha",)))
    assert (await harness.count_rows())["message"] == 2


async def create_and_wait_for_title(harness: DiscussionHarness, **fields: Any) -> str:
    """Create a discussion, wait for the task model, and return the title."""
    started = await harness.create(**fields)
    await wait_until(lambda: not harness.title_generator._tasks)
    return (await harness.discussions.get_discussion(ANNA, started.discussion.id)).title


async def test_task_model_generates_title_when_none_is_given(harness: DiscussionHarness) -> None:
    assert await create_and_wait_for_title(harness, task_model="scripted/task-model") == "Tables and chairs"
    assert await create_and_wait_for_title(harness, task_model="scripted/task-model", title="Mine") == "Mine"
    assert await create_and_wait_for_title(harness) == "Why are tables round?"
    assert len(harness.provider.requests) == 1


async def test_task_model_of_settings_is_the_default(
    harness: DiscussionHarness,
) -> None:
    harness.task_model = "scripted/task-model"
    harness.service = harness.make_service(harness.run_planner, harness.started_runs.append)
    assert (await harness.create()).discussion.task_model == "scripted/task-model"
    assert (await harness.create(task_model="scripted/echo")).discussion.task_model == "scripted/echo"
    await wait_until(lambda: not harness.title_generator._tasks)


async def test_repeated_request_generates_title_once(harness: DiscussionHarness) -> None:
    for _ in range(2):
        assert (
            await create_and_wait_for_title(harness, key="once", task_model="scripted/task-model")
            == "Tables and chairs"
        )
    assert len(harness.provider.requests) == 1


PRICED_PROVIDER = ScriptedProvider(
    Scripts({"dear": Script(usd_per_million_tokens=1000)})
)  # about 0.6 dollars an answer
EXPENSIVE_DISCUSSION = replace(NEW_DISCUSSION, participants=make_participants(("scripted/dear",)))
CONCURRENT_REQUESTS = 20


async def resolve_priced_model(_: str, model: str) -> Sequence[ResolvedModel]:
    return [ResolvedModel(model, PRICED_PROVIDER, model.removeprefix("scripted/"), KeyRing(()))]


def make_service_with_budget(harness: DiscussionHarness, budget: float | None) -> DiscussionService:
    """A discussion service in which every account has a budget."""
    harness.budget = budget
    return harness.make_service(harness.run_planner, harness.started_runs.append)


async def list_reservations(harness: DiscussionHarness) -> list[tuple[str | None, float | None]]:
    async with harness.database.read() as connection:
        rows = await connection.execute(select(run.c.account, run.c.reserved_usd).order_by(run.c.id))
        return [(row.account, row.reserved_usd) for row in rows]


async def test_new_run_reserves_its_estimated_cost(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 5.0)
    started = await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)
    await discussion_service.send_message(
        CALLER, NewMessage(discussion=started.discussion.id, message="And square ones?")
    )
    (payer, first), (_, second) = await list_reservations(harness)
    assert payer == ANNA
    assert first is not None
    assert second is not None
    assert 0.6 < first < second, "the second reads more"


async def test_attached_files_increase_the_reservation(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 10.0)
    file = await harness.store_file(b"x" * 4000)  # a thousand tokens
    started = await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)
    await discussion_service.create(CALLER, replace(EXPENSIVE_DISCUSSION, files=(file,)))
    await harness.complete_all_runs()
    await discussion_service.send_message(
        CALLER, NewMessage(discussion=started.discussion.id, message="And?", files=(file,))
    )
    without_file, with_file, with_history = (reserved or 0.0 for _, reserved in await list_reservations(harness))
    assert with_file - without_file == pytest.approx(1.0)
    assert with_history > with_file


@ON_BOTH_DATABASES
async def test_create_over_budget_is_rejected_and_stores_nothing(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 1.0)
    await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)
    with pytest.raises(OverBudget, match="budget/reset"):
        await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)
    assert len(harness.started_runs) == len(await list_reservations(harness)) == 1
    assert len((await harness.discussions.list_discussions(ANNA)).discussions) == 1
    await harness.complete_all_runs()
    await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)


@ON_BOTH_DATABASES
async def test_concurrent_creates_start_no_more_runs_than_budget_allows(
    harness: DiscussionHarness,
) -> None:
    discussion_service = make_service_with_budget(harness, 1.0)  # enough for one
    results = await asyncio.gather(
        *(discussion_service.create(CALLER, EXPENSIVE_DISCUSSION) for _ in range(CONCURRENT_REQUESTS)),
        return_exceptions=True,
    )
    assert [type(one) for one in results].count(StartedRun) == 1
    assert [type(one) for one in results].count(OverBudget) == CONCURRENT_REQUESTS - 1
    assert len(harness.started_runs) == len(await list_reservations(harness)) == 1
    assert await harness.count_rows() == ONE_DISCUSSION_ROWS


async def test_message_over_budget_does_not_interrupt_live_run(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 1.0)
    started = await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION)
    with pytest.raises(OverBudget):
        await discussion_service.send_message(CALLER, NewMessage(discussion=started.discussion.id, message="And?"))
    with pytest.raises(Conflict, match="live run"):
        await discussion_service.continue_(CALLER, started.discussion.id, 1)
    assert (await harness.pending_commands(started)).stop_reason is None


async def test_repeated_request_with_same_key_needs_no_budget(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 1.0)
    started = await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION, "once")
    assert (await discussion_service.create(CALLER, EXPENSIVE_DISCUSSION, "once")).run.id == started.run.id


async def test_reservation_is_limited_by_max_cost(harness: DiscussionHarness) -> None:
    discussion_service = make_service_with_budget(harness, 4.0)
    rounds = replace(
        EXPENSIVE_DISCUSSION,
        mode="consensus",
        participants=make_participants(("scripted/dear",) * 2),
        rounds=4,
    )
    started = await discussion_service.create(CALLER, replace(rounds, max_cost_usd=1.5))
    await discussion_service.send_message(
        CALLER, NewMessage(discussion=started.discussion.id, message="And?", max_cost_usd=1.25)
    )
    assert [reserved for _, reserved in await list_reservations(harness)] == [1.5, 1.25]
    assert (await harness.plan(started)).max_cost_usd == 1.5


async def test_run_without_budget_reserves_nothing(harness: DiscussionHarness) -> None:
    await make_service_with_budget(harness, None).create(CALLER, EXPENSIVE_DISCUSSION)
    ((_, reserved),) = await list_reservations(harness)
    assert reserved is None
