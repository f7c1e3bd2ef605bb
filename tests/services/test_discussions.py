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
from moot.services.discussions import MAX_TITLE_CHARS, DiscussionService, NewDiscussion, Saying, Started
from moot.services.model_tasks import ModelTasks
from moot.services.run_plans import RunPlanner
from moot.services.titles import TitleGenerator
from moot.store.billing.budgets import Budgets
from moot.store.billing.token_rates import TokenRates
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions, add_message, lock_discussions
from moot.store.discussions.files import Files
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.store.rate_limits import RateLimiter
from moot.store.runs.runs import RunCommands, Runs
from moot.store.schema import discussion, idempotency, message, run
from moot.types.accounts import Caller
from moot.types.discussions import Discussion, Message
from moot.types.errors import Conflict, NotFound, OverBudget, ShuttingDown, UsageError
from moot.types.participants import make_participants
from moot.types.primitives import new_id
from moot.types.run_plan import RunPlan
from tests.databases import ON_BOTH_DATABASES
from tests.engine.tables import SPEAKER, Recorded
from tests.store.hearing import SECONDS, eventually, hearing
from tests.store.people import ANNA, BERT, settle
from tests.store.running import WORKER, claim, employ

GERMAN = "Warum haben die meisten Tische vier Beine und nicht drei?"
BLIND = ProviderConfig(api="openai", base_url="http://127.0.0.1:9/v1")
CALLER = Caller(account=ANNA, tenant=ANNA, name="Anna", kind="session")
STRANGER = Caller(account=BERT, tenant=BERT, name="Bert", kind="session")
OPENING = NewDiscussion(
    message="Why are tables round?",
    participants=make_participants(("a/one", "b/two", "c/three")),
    mode="single",
    rounds=2,
)


class Broken(Exception):
    pass


class Room:
    """A hall, the runs that it let begin, and what is in the database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.budget: float | None = None
        self.clerk: str | None = None
        self.begun: list[str] = []
        self.discussions = Discussions(database)
        self.runs = Runs(database)
        self.measuring = ContextLimits(TokenRates(database), Registry({}, {}), {})
        self.planning = RunPlanner(Personas(database, ()), Projects(database), self.measuring)
        self.files = Files(database)
        self.provider = Recorded({"clerk": Script(answer="Tables and chairs")})
        errands = ModelTasks(database, SPEAKER, Budgets(database))
        self.titles = TitleGenerator(database, self._chain, errands, RateLimiter(database))
        self.remembering = ChannelMemory(database, self._chain, errands)
        self.hall = self.hall_with(self.planning, self.begun.append)

    def hall_with(self, planning: RunPlanner, start: Callable[[str], None]) -> DiscussionService:
        registry = Registry({"blind": BLIND}, {})
        attaching = Attachments(self.files, registry)
        treasury = BudgetService(self.database, Budgets(self.database, self.budget), priced)
        return DiscussionService(
            self.database,
            planning,
            WORKER,
            start,
            attaching,
            self.titles,
            treasury,
            self.remembering,
            self.clerk,
        )

    async def _chain(self, _tenant: str, model: str) -> Sequence[ResolvedModel]:
        return [ResolvedModel(model, self.provider, model.removeprefix("scripted/"), KeyRing(()))]

    async def file(self, data: bytes = b"words", media_type: str = "text/plain", owner: str = ANNA) -> str:
        return (await self.files.store_file(owner, owner, "a.txt", media_type, data.hex(), data)).id

    async def open(
        self, words: str = "Why are tables round?", key: str | None = None, **more: Any
    ) -> Started:
        return await self.hall.create(CALLER, replace(OPENING, message=words, **more), key)

    async def say(self, id: str, words: str, *, key: str | None = None, to: Sequence[str] = ()) -> Started:
        saying = Saying(discussion=id, message=words, to=tuple(to) or None)
        return await self.hall.send_message(CALLER, saying, key)

    async def wishes(self, started: Started) -> RunCommands:
        return await self.runs.pending_commands(started.run.id)

    async def plan(self, started: Started) -> RunPlan:
        return await self.runs.get_plan(started.run.id)

    async def finish(self) -> None:
        """Let all runs have ended."""
        async with self.database.write() as connection:
            await connection.execute(update(run).values(status="completed"))

    async def answered(self, started: Started, participant: str) -> None:
        said = Message(
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
            await add_message(connection, ANNA, said)

    async def stored(self) -> dict[str, int]:
        counted: dict[str, int] = {}
        async with self.database.read() as connection:
            for table in (discussion, message, run, idempotency):
                query = select(func.count()).select_from(table)
                counted[table.name] = (await connection.execute(query)).scalar_one()
        return counted


@pytest.fixture
async def room(database: Database) -> Room:
    await settle(database)
    await employ(database, WORKER)
    return Room(database)


NOTHING = {"discussion": 0, "message": 0, "run": 0, "idempotency": 0}
ONE = {"discussion": 1, "message": 1, "run": 1, "idempotency": 0}


async def test_discussion_message_and_run_are_stored_and_the_run_begins(room: Room) -> None:
    started = await room.open()
    id = started.discussion.id
    assert await room.discussions.get_discussion(ANNA, id) == started.discussion
    assert await room.discussions.list_messages(id) == (started.message,)
    assert await room.runs.get_run(ANNA, started.run.id) == started.run
    assert started.message is not None
    assert [one.rpartition("_")[0] for one in (id, started.run.id, started.message.id)] == [
        "dis",
        "run",
        "msg",
    ]
    assert (started.message.role, started.message.content) == ("user", "Why are tables round?")
    assert (started.message.run, started.run.message) == (started.run.id, started.message.id)
    assert (started.run.mode, started.run.status) == ("single", "waiting")
    assert await room.plan(started) == RunPlan(
        mode="single", participants=OPENING.participants, language="en"
    )
    assert room.begun == [started.run.id]
    assert await room.stored() == ONE


@ON_BOTH_DATABASES
async def test_a_run_begins_only_when_all_is_stored_for_everybody_to_see(room: Room) -> None:
    seen: list[str] = []

    async def look(id: str) -> str:
        async with Database(room.database.url) as elsewhere:
            found = await Runs(elsewhere).get_run(ANNA, id)
            said = await Discussions(elsewhere).list_messages(found.discussion)
            return said[-1].content

    def start(id: str) -> None:
        with ThreadPoolExecutor(1) as thread:
            seen.append(thread.submit(asyncio.run, look(id)).result())

    hall = room.hall_with(room.planning, start)
    started = await hall.create(CALLER, OPENING)
    await hall.send_message(CALLER, Saying(discussion=started.discussion.id, message="And square?"))
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
async def test_the_first_line_is_the_title_cut_at_a_word(room: Room, words: str, title: str) -> None:
    assert (await room.open(words)).discussion.title == title


async def test_a_title_that_is_given_is_kept(room: Room) -> None:
    assert (await room.open(title="Furniture")).discussion.title == "Furniture"


async def test_the_language_is_found_in_the_first_message_and_kept(room: Room) -> None:
    first = await room.open(GERMAN)
    assert first.discussion.language == "de"
    second = await room.say(first.discussion.id, "And now in English, please: why are tables round?")
    assert second.discussion.language == "de"
    assert [(await room.plan(started)).language for started in (first, second)] == ["de", "de"]


async def test_a_language_that_is_given_wins(room: Room) -> None:
    started = await room.open(GERMAN, language="fr")
    assert started.discussion.language == "fr"
    assert (await room.plan(started)).language == "fr"


@ON_BOTH_DATABASES
@pytest.mark.parametrize(
    "step", ["add_discussion", "add_run", "add_message", "notify_discussion_change", "store_idempotent_reply"]
)
async def test_an_opening_that_fails_half_way_leaves_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(module, step, breaking)
        with pytest.raises(Broken):
            await room.open(key="key")
    assert await room.stored() == NOTHING
    assert room.begun == []
    started = await room.open(key="key")
    assert room.begun == [started.run.id]


async def breaking(*_: object) -> NoReturn:
    raise Broken


@pytest.mark.parametrize("step", ["add_run", "add_message", "store_idempotent_reply"])
async def test_a_follow_up_that_fails_half_way_changes_nothing(
    room: Room, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    started = await room.open()
    archived = await room.discussions.update_discussion(ANNA, started.discussion.id, {"status": "archived"})
    monkeypatch.setattr(module, step, breaking)
    with pytest.raises(Broken):
        await room.say(archived.id, "And square?", key="key")
    assert await room.stored() == ONE
    assert await room.wishes(started) == RunCommands(None, ())
    assert await room.discussions.get_discussion(ANNA, archived.id) == archived
    assert room.begun == [started.run.id]


@ON_BOTH_DATABASES
async def test_a_project_that_is_gone_by_then_leaves_nothing(room: Room) -> None:
    with pytest.raises(IntegrityError):
        await room.open(project="project_gone", key="key")
    assert await room.stored() == NOTHING
    assert room.begun == []


@ON_BOTH_DATABASES
async def test_a_discussion_that_goes_while_somebody_speaks_is_gone(room: Room) -> None:
    class Deleting(RunPlanner):
        async def plan_run(
            self, tenant: str, discussion: Discussion, to: tuple[str, ...] | None = None
        ) -> RunPlan:
            await room.discussions.delete_discussion(tenant, discussion.id)
            return await room.planning.plan_run(tenant, discussion, to)

    started = await room.open()
    await room.finish()
    planning = Deleting(Personas(room.database, ()), Projects(room.database), room.measuring)
    hall = room.hall_with(planning, room.begun.append)
    with pytest.raises(IntegrityError):
        await hall.send_message(
            CALLER, Saying(discussion=started.discussion.id, message="And square?"), "key"
        )
    assert await room.stored() == NOTHING
    assert room.begun == [started.run.id]


async def test_what_is_said_to_some_is_for_them_alone(room: Room) -> None:
    started = await room.open()
    assert started.message is not None
    assert started.message.audience is None
    aside = await room.say(started.discussion.id, "Between us:", to=("gamma", "alpha"))
    *_, last = await room.discussions.list_messages(started.discussion.id)
    assert (last.content, last.audience) == ("Between us:", ("gamma", "alpha"))
    assert last == aside.message
    plan = await room.plan(aside)
    assert plan.to == ("gamma", "alpha")
    assert [who.id for who in plan.responding_participants] == ["alpha", "gamma"]


async def test_a_stranger_cannot_be_spoken_to(room: Room) -> None:
    started = await room.open()
    with pytest.raises(UsageError, match="alpha, beta, gamma"):
        await room.say(started.discussion.id, "Hello?", to=("delta",))
    assert await room.stored() == ONE


@ON_BOTH_DATABASES
async def test_a_follow_up_interrupts_what_is_still_being_said(room: Room) -> None:
    async with hearing(room.database, "moot_control") as control:
        first = await room.open()
        await claim(room.database, first.run.id)
        second = await room.say(first.discussion.id, "And square?")
        assert await room.wishes(first) == RunCommands("follow_up_interrupt", ())
        assert await room.wishes(second) == RunCommands(None, ())
        await eventually(lambda: bool(control))
    assert control == [first.run.id]
    assert room.begun == [first.run.id, second.run.id]


async def test_a_run_that_is_over_or_stopped_already_is_not_interrupted(room: Room) -> None:
    first = await room.open()
    await room.finish()
    second = await room.say(first.discussion.id, "And square?")
    await room.runs.request_stop(ANNA, second.run.id)
    await room.say(first.discussion.id, "And oval?")
    assert await room.wishes(first) == RunCommands(None, ())
    assert await room.wishes(second) == RunCommands("stopped_by_user", ())


async def test_a_follow_up_leaves_other_discussions_alone(room: Room) -> None:
    first, other = await room.open(), await room.open()
    await room.say(first.discussion.id, "And square?")
    assert await room.wishes(other) == RunCommands(None, ())


@ON_BOTH_DATABASES
async def test_of_follow_ups_that_come_at_once_one_is_answered(room: Room) -> None:
    started = await room.open()
    said = await asyncio.gather(*(room.say(started.discussion.id, f"{n}?") for n in range(6)))
    wishes = [(await room.wishes(one)).stop_reason for one in (started, *said)]
    assert sorted(map(str, wishes)) == ["None", *["follow_up_interrupt"] * 6]


@ON_BOTH_DATABASES
async def test_whoever_speaks_does_not_stand_in_the_way_of_a_run_that_ends(room: Room) -> None:
    """A run that ends holds its discussion first, and so does whoever interrupts it: neither waits in vain."""
    started = await room.open()
    async with room.database.write() as connection:
        await lock_discussions(connection, [started.discussion.id])
        speaking = asyncio.create_task(room.say(started.discussion.id, "And square?"))
        await asyncio.wait_for(until_it_waits(room.database), SECONDS)
        await connection.execute(update(run).where(run.c.id == started.run.id).values(status="completed"))
    await speaking
    assert await room.wishes(started) == RunCommands(None, ())


async def until_it_waits(database: Database) -> None:
    """Wait until somebody waits for a lock; on SQLite whoever writes waits for the only writer."""
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    )
    while database.is_postgres:
        async with database.read() as connection:
            if (await connection.execute(waiting)).scalar_one():
                return
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("status", ["archived", "completed"])
async def test_a_discussion_that_was_put_away_is_active_again(room: Room, status: str) -> None:
    started = await room.open()
    away = await room.discussions.update_discussion(ANNA, started.discussion.id, {"status": status})
    said = await room.say(away.id, "And square?")
    now = await room.discussions.get_discussion(ANNA, away.id)
    assert now.status == "active"
    assert now.updated_at >= away.updated_at
    assert said.discussion == now


@ON_BOTH_DATABASES
async def test_whoever_watches_the_discussions_is_told(room: Room) -> None:
    async with hearing(room.database, "moot_changes") as changes:
        started = await room.open()
        await room.say(started.discussion.id, "And square?")
        await room.finish()
        await room.hall.continue_(CALLER, started.discussion.id, 1)
        await eventually(lambda: len(changes) >= 3)
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
async def test_the_table_goes_on_with_the_one_after_the_last_speaker(
    room: Room, spoke: tuple[str, ...], first: int
) -> None:
    started = await room.open()
    for participant in spoke:
        await room.answered(started, participant)
    await room.finish()
    going_on = await room.hall.continue_(CALLER, started.discussion.id, 7)
    plan = await room.plan(going_on)
    assert (plan.mode, plan.turns, plan.first) == ("continue", 7, first)
    assert (going_on.message, going_on.run.message, going_on.run.mode) == (None, None, "continue")
    assert room.begun == [started.run.id, going_on.run.id]


async def test_a_table_goes_on_with_whoever_was_called_upon(room: Room) -> None:
    started = await room.open()
    await room.finish()
    await room.answered(started, "alpha")
    going_on = await room.hall.continue_(CALLER, started.discussion.id, 1, first="gamma")
    plan = await room.plan(going_on)
    assert (plan.mode, plan.turns, plan.responding_participants[plan.first].id) == ("continue", 1, "gamma")


async def test_some_answer_in_turn_while_all_hear_it(room: Room) -> None:
    opened = await room.open(answering=("gamma", "alpha"))
    saying = Saying(discussion=opened.discussion.id, message="And square?", answering=("beta",))
    said = await room.hall.send_message(CALLER, saying)
    for started, answering in ((opened, ["gamma", "alpha"]), (said, ["beta"])):
        plan = await room.plan(started)
        assert (plan.mode, plan.rounds, [who.id for who in plan.responding_participants]) == (
            "consensus",
            1,
            answering,
        )
        assert started.message is not None
        assert started.message.audience is None
    assert opened.discussion.mode == "single"


async def test_advisors_who_are_not_active_do_not_go_on_either(room: Room) -> None:
    seats = tuple(replace(who, active=who.id != "alpha") for who in OPENING.participants)
    started = await room.open(mode="advisors", participants=seats)
    await room.answered(started, "beta")
    await room.finish()
    plan = await room.plan(await room.hall.continue_(CALLER, started.discussion.id, 1))
    assert [who.id for who in plan.responding_participants] == ["beta", "gamma"]
    assert plan.responding_participants[plan.first].id == "gamma"


async def test_a_table_that_goes_on_is_active_again(room: Room) -> None:
    started = await room.open()
    await room.finish()
    await room.discussions.update_discussion(ANNA, started.discussion.id, {"status": "archived"})
    going_on = await room.hall.continue_(CALLER, started.discussion.id, 1)
    assert await room.discussions.get_discussion(ANNA, started.discussion.id) == going_on.discussion
    assert going_on.discussion.status == "active"


async def test_a_table_that_still_speaks_does_not_go_on(room: Room) -> None:
    started = await room.open()
    with pytest.raises(Conflict, match=f"wait for run {started.run.id}, or stop it first"):
        await room.hall.continue_(CALLER, started.discussion.id, 1)
    assert await room.stored() == ONE
    assert await room.wishes(started) == RunCommands(None, ())


@ON_BOTH_DATABASES
async def test_a_table_that_is_told_twice_at_once_goes_on_once(room: Room) -> None:
    started = await room.open()
    await room.finish()
    told = (room.hall.continue_(CALLER, started.discussion.id, 1) for _ in range(4))
    ends = await asyncio.gather(*told, return_exceptions=True)
    assert sorted(type(end).__name__ for end in ends) == ["Conflict", "Conflict", "Conflict", "Started"]


@ON_BOTH_DATABASES
async def test_whoever_is_about_to_leave_takes_nothing_in(room: Room) -> None:
    started = await room.open()
    await room.finish()
    room.hall.drain()
    for work in (
        room.open(),
        room.say(started.discussion.id, "And square?"),
        room.hall.continue_(CALLER, started.discussion.id, 1),
    ):
        with pytest.raises(ShuttingDown, match="ask again in a moment"):
            await work
    assert await room.stored() == ONE
    assert room.begun == [started.run.id]


async def test_nobody_speaks_in_another_tenants_discussion(room: Room) -> None:
    id = (await room.open()).discussion.id
    for intrusion in (
        room.hall.send_message(STRANGER, Saying(discussion=id, message="Hello?")),
        room.hall.continue_(STRANGER, id, 1),
    ):
        with pytest.raises(NotFound, match=id):
            await intrusion
    assert await room.stored() == ONE


async def test_the_same_request_again_gets_the_same_reply_and_does_nothing(room: Room) -> None:
    opened = await room.open(key="one")
    assert await room.open(key="one") == opened
    said = await room.say(opened.discussion.id, "And square?", key="two")
    assert await room.say(opened.discussion.id, "And square?", key="two") == said
    await room.finish()
    going_on = await room.hall.continue_(CALLER, opened.discussion.id, 3, "three")
    assert await room.hall.continue_(CALLER, opened.discussion.id, 3, "three") == going_on
    assert await room.wishes(going_on) == RunCommands(None, ())
    assert await room.stored() == {"discussion": 1, "message": 2, "run": 3, "idempotency": 3}
    assert room.begun == [opened.run.id, said.run.id, going_on.run.id]


@ON_BOTH_DATABASES
async def test_requests_of_one_key_that_come_at_once_are_one(room: Room) -> None:
    opened = await asyncio.gather(*(room.open(key="one") for _ in range(4)))
    assert opened == [opened[0]] * 4
    said = await asyncio.gather(
        *(room.say(opened[0].discussion.id, "And square?", key="two") for _ in range(4))
    )
    assert said == [said[0]] * 4
    assert await room.stored() == {"discussion": 1, "message": 2, "run": 2, "idempotency": 2}
    assert room.begun == [opened[0].run.id, said[0].run.id]


async def test_a_key_is_for_one_request(room: Room) -> None:
    opened = await room.open(key="key")
    id = opened.discussion.id
    for other in (
        room.open("Why are tables square?", key="key"),
        room.open(key="key", mode="parallel"),
        room.say(id, "Why are tables round?", key="key"),
        room.hall.continue_(CALLER, id, 1, "key"),
    ):
        with pytest.raises(Conflict, match="used for another request"):
            await other
    assert await room.wishes(opened) == RunCommands(None, ())
    assert await room.stored() == ONE | {"idempotency": 1}


async def test_keys_are_each_tenants_own(room: Room) -> None:
    mine = await room.open(key="key")
    theirs = await room.hall.create(STRANGER, OPENING, "key")
    assert theirs.discussion.id != mine.discussion.id
    assert theirs.run.id != mine.run.id
    assert await room.discussions.get_discussion(BERT, theirs.discussion.id) == theirs.discussion


async def test_files_come_with_the_message_that_names_them(room: Room) -> None:
    one, two = await room.file(), await room.file(b"more")
    started = await room.open(files=(one, two, one))
    assert started.message is not None
    assert started.message.files == (one, two)
    said = await room.hall.send_message(
        CALLER, Saying(discussion=started.discussion.id, message="And this?", files=(two,))
    )
    stored = await room.discussions.list_messages(started.discussion.id)
    assert [message.files for message in stored] == [(one, two), (two,)]
    assert stored[-1] == said.message


async def test_a_file_that_is_not_there_is_named_and_nothing_is_stored(room: Room) -> None:
    mine, hers = await room.file(), await room.file(owner=BERT)
    for wrong in (hers, "file_none"):
        with pytest.raises(NotFound, match=rf"^files\[1\]: There is no file '{wrong}'"):
            await room.open(files=(mine, wrong), key="once")
    assert await room.stored() == NOTHING


@ON_BOTH_DATABASES
async def test_a_file_that_goes_while_it_is_attached_is_not_attached(room: Room) -> None:
    id = await room.file()

    class Deleting(Attachments):
        async def validate_attachments(self, tenant: str, ids: Sequence[str], plan: RunPlan) -> None:
            await super().validate_attachments(tenant, ids, plan)
            await room.files.delete_file(tenant, id)

    room.hall._attachments = Deleting(room.files, Registry({}, {}))
    with pytest.raises(NotFound, match=r"^files\[0\]"):
        await room.open(files=(id,))
    assert await room.stored() == NOTHING
    assert room.begun == []


async def test_who_is_spoken_to_and_cannot_read_a_file_is_named_before_anything_is_stored(room: Room) -> None:
    picture = await room.file(b"\x89PNG\r\n\x1a\n", "image/png")
    table = make_participants(("blind/gpt-5", "blind/deepseek-chat"))
    with pytest.raises(UsageError, match=r"^files\[0\]: Beta \(blind/deepseek-chat\) takes no image files"):
        await room.open(participants=table, files=(picture,))
    assert await room.stored() == NOTHING
    started = await room.open(participants=table)
    saying = Saying(discussion=started.discussion.id, message="Look.", files=(picture,))
    with pytest.raises(UsageError, match=r"^files\[0\]: Beta"):
        await room.hall.send_message(CALLER, saying)
    await room.hall.send_message(CALLER, replace(saying, to=("alpha",)))
    assert (await room.stored())["message"] == 2


async def titled(room: Room, **more: Any) -> str:
    """Open a discussion, wait for what the clerk does, and return the title that it has then."""
    started = await room.open(**more)
    await eventually(lambda: not room.titles._tasks)
    return (await room.discussions.get_discussion(ANNA, started.discussion.id)).title


async def test_a_clerk_finds_a_title_where_none_is_given(room: Room) -> None:
    assert await titled(room, clerk="scripted/clerk") == "Tables and chairs"
    assert await titled(room, clerk="scripted/clerk", title="Mine") == "Mine"
    assert await titled(room) == "Why are tables round?"
    assert len(room.provider.asked) == 1


async def test_the_clerk_of_the_settings_is_that_of_every_discussion_without_one(room: Room) -> None:
    room.clerk = "scripted/clerk"
    room.hall = room.hall_with(room.planning, room.begun.append)
    assert (await room.open()).discussion.clerk == "scripted/clerk"
    assert (await room.open(clerk="scripted/echo")).discussion.clerk == "scripted/echo"
    await eventually(lambda: not room.titles._tasks)


async def test_a_request_that_comes_twice_has_its_title_found_once(room: Room) -> None:
    for _ in range(2):
        assert await titled(room, key="once", clerk="scripted/clerk") == "Tables and chairs"
    assert len(room.provider.asked) == 1


PRICED = ScriptedProvider(Scripts({"dear": Script(price=1000)}))  # about 0.6 dollars an answer
DEAR = replace(OPENING, participants=make_participants(("scripted/dear",)))
RUSH = 20


async def priced(_: str, model: str) -> Sequence[ResolvedModel]:
    return [ResolvedModel(model, PRICED, model.removeprefix("scripted/"), KeyRing(()))]


def thrifty(room: Room, budget: float | None) -> DiscussionService:
    """A hall in which everybody has a budget."""
    room.budget = budget
    return room.hall_with(room.planning, room.begun.append)


async def reservations(room: Room) -> list[tuple[str | None, float | None]]:
    async with room.database.read() as connection:
        rows = await connection.execute(select(run.c.account, run.c.reserved).order_by(run.c.id))
        return [(row.account, row.reserved) for row in rows]


async def test_what_a_run_will_cost_is_reserved_with_it(room: Room) -> None:
    hall = thrifty(room, 5.0)
    started = await hall.create(CALLER, DEAR)
    await hall.send_message(CALLER, Saying(discussion=started.discussion.id, message="And square ones?"))
    (payer, first), (_, second) = await reservations(room)
    assert payer == ANNA
    assert first is not None
    assert second is not None
    assert 0.6 < first < second, "the second reads more"


async def test_more_is_reserved_for_a_message_with_files(room: Room) -> None:
    hall = thrifty(room, 10.0)
    file = await room.file(b"x" * 4000)  # a thousand tokens
    started = await hall.create(CALLER, DEAR)
    await hall.create(CALLER, replace(DEAR, files=(file,)))
    await room.finish()
    await hall.send_message(CALLER, Saying(discussion=started.discussion.id, message="And?", files=(file,)))
    bare, full, said = (reserved or 0.0 for _, reserved in await reservations(room))
    assert full - bare == pytest.approx(1.0)
    assert said > full


@ON_BOTH_DATABASES
async def test_what_is_over_the_budget_is_refused_and_leaves_nothing(room: Room) -> None:
    hall = thrifty(room, 1.0)
    await hall.create(CALLER, DEAR)
    with pytest.raises(OverBudget, match="re-up"):
        await hall.create(CALLER, DEAR)
    assert len(room.begun) == len(await reservations(room)) == 1
    assert len((await room.discussions.list_discussions(ANNA)).discussions) == 1
    await room.finish()
    await hall.create(CALLER, DEAR)


@ON_BOTH_DATABASES
async def test_a_rush_on_the_budget_begins_no_more_than_there_is_money_for(room: Room) -> None:
    hall = thrifty(room, 1.0)  # enough for one
    rush = await asyncio.gather(*(hall.create(CALLER, DEAR) for _ in range(RUSH)), return_exceptions=True)
    assert [type(one) for one in rush].count(Started) == 1
    assert [type(one) for one in rush].count(OverBudget) == RUSH - 1
    assert len(room.begun) == len(await reservations(room)) == 1
    assert await room.stored() == ONE


async def test_a_message_over_the_budget_interrupts_nobody(room: Room) -> None:
    hall = thrifty(room, 1.0)
    started = await hall.create(CALLER, DEAR)
    with pytest.raises(OverBudget):
        await hall.send_message(CALLER, Saying(discussion=started.discussion.id, message="And?"))
    with pytest.raises(Conflict, match="still speaking"):
        await hall.continue_(CALLER, started.discussion.id, 1)
    assert (await room.wishes(started)).stop_reason is None


async def test_a_request_that_was_done_is_answered_again_whatever_is_left(room: Room) -> None:
    hall = thrifty(room, 1.0)
    started = await hall.create(CALLER, DEAR, "once")
    assert (await hall.create(CALLER, DEAR, "once")).run.id == started.run.id


async def test_a_run_reserves_no_more_than_its_cap(room: Room) -> None:
    hall = thrifty(room, 4.0)
    rounds = replace(DEAR, mode="consensus", participants=make_participants(("scripted/dear",) * 2), rounds=4)
    started = await hall.create(CALLER, replace(rounds, cap=1.5))
    await hall.send_message(CALLER, Saying(discussion=started.discussion.id, message="And?", cap=1.25))
    assert [reserved for _, reserved in await reservations(room)] == [1.5, 1.25]
    assert (await room.plan(started)).cap == 1.5


async def test_without_a_budget_nothing_is_reserved(room: Room) -> None:
    await thrifty(room, None).create(CALLER, DEAR)
    ((_, reserved),) = await reservations(room)
    assert reserved is None
