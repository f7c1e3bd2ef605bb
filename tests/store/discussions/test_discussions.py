import asyncio
from base64 import urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import asdict, replace
from sqlalchemy import Table, event, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from moot.store.database import Database
from moot.store.discussions.discussions import (
    DiscussionPage,
    Discussions,
    SearchHit,
    add_discussion,
    add_message,
    message_values,
    reactivate_discussion,
    replace_title,
)
from moot.store.runs.event_log import EventLog, EventLogEntry, RunRecords
from moot.store.runs.runs import Runs
from moot.store.schema.discussions import discussion as table
from moot.store.schema.discussions import message
from moot.store.schema.runs import run, run_event
from moot.types.chunks import Usage
from moot.types.discussions import ActiveDiscussion, Discussion, Message, Run
from moot.types.errors import Conflict, NotFound, UsageError
from moot.types.events import TurnStatus
from moot.types.faults import make_fault
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, BERT, create_accounts, create_discussion
from tests.support.runs import (
    WORKER,
    create_leased_run,
    create_run,
    lease_run,
    make_answer,
    register_workers,
)
from tests.support.waiting import collect_notifications, wait_until


@pytest.fixture
async def discussions(database: Database) -> Discussions:
    await create_accounts(database)
    await register_workers(database, WORKER)
    return Discussions(database)


async def create_discussions(database: Database, updated_times: Sequence[float], owner: str = ANNA) -> list[Discussion]:
    """Store discussions that were last changed at these times."""
    found = []
    for time in updated_times:
        new = await create_discussion(database, owner)
        async with database.write() as connection:
            await connection.execute(update(table).where(table.c.id == new.id).values(updated_at=time))
        found.append(replace(new, updated_at=time))
    return found


async def list_all_pages(discussions: Discussions, limit: int, **filters: Any) -> list[list[str]]:
    pages, cursor = [], None
    while True:
        page = await discussions.list_discussions(ANNA, limit=limit, cursor=cursor, **filters)
        pages.append([found.id for found in page.discussions])
        if (cursor := page.next) is None:
            return pages


async def test_discussion_round_trips_through_database(database: Database, discussions: Discussions) -> None:
    new = Discussion(
        id="dis_1",
        title="Kaffee & Käse",
        status="completed",
        mode="consensus",
        participants=(Participant("a", "Ann", "openai/gpt-5", persona="p", temperature=0.5, thinking="low"),),
        rounds=3,
        persona="shipped_skeptic",
        project=None,
        language="de",
        model="openai/gpt-5",
        summary="All is well.",
        usefulness=0.75,
        exported_at=3.25,
        created_at=1.125,
        updated_at=2.0625,
    )
    async with database.write() as connection:
        await add_discussion(connection, ANNA, ANNA, new)
    assert await discussions.get_discussion(ANNA, "dis_1") == new


async def test_other_tenant_cannot_read_or_change_discussion(database: Database, discussions: Discussions) -> None:
    mine = await create_discussion(database, ANNA, "a secret")
    for tenant, id in ((BERT, mine.id), (ANNA, "dis_none")):
        for asked in (
            discussions.get_discussion(tenant, id),
            discussions.update_discussion(tenant, id, {"title": "Mine now"}),
            discussions.delete_discussion(tenant, id),
        ):
            with pytest.raises(NotFound, match=id):
                await asked
    assert (
        await discussions.list_discussions(BERT)
        == await discussions.list_discussions(BERT, q="secret")
        == DiscussionPage((), None)
    )
    await create_run(database, mine)
    assert await discussions.live_runs(BERT) == await discussions.live_runs(BERT, mine.id) == ()
    assert await discussions.get_discussion(ANNA, mine.id) == mine


UPDATED_TIMES = st.lists(st.sampled_from([1.0, 2.0, 1.5, 1e9 + 0.1, 1e9 + 0.1 + 1e-7]), max_size=9)


@settings(  # one example executes dozens of statements
    max_examples=max(10, settings().max_examples // 10),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(times=UPDATED_TIMES, limit=st.integers(1, 4))
async def test_pages_list_every_discussion_once_newest_first(
    database: Database, discussions: Discussions, times: list[float], limit: int
) -> None:
    for old in (await discussions.list_discussions(ANNA, limit=1000)).discussions:
        await discussions.delete_discussion(ANNA, old.id)
    made = await create_discussions(database, times)
    newest = sorted(made, key=lambda new: (new.updated_at, new.id), reverse=True)
    pages = await list_all_pages(discussions, limit)
    assert [id for page in pages for id in page] == [new.id for new in newest]
    assert all(len(page) == limit for page in pages[:-1])
    assert len(pages) == max(1, -(-len(made) // limit))


async def test_cursor_continues_in_place_when_discussions_are_added(
    database: Database, discussions: Discussions
) -> None:
    old, older, oldest = await create_discussions(database, [3.0, 2.0, 1.0])
    first = await discussions.list_discussions(ANNA, limit=1)
    assert first.discussions == (old,)
    await create_discussions(database, [4.0])
    second = await discussions.list_discussions(ANNA, limit=5, cursor=first.next)
    assert second == DiscussionPage((older, oldest), None)


@pytest.mark.parametrize(
    "cursor",
    [
        "x",
        "%%%",
        "ä",
        "",
        "W10=",
        urlsafe_b64encode(b'[1,"\\u0000"]').decode(),
        urlsafe_b64encode(b'["1","a"]').decode(),
        urlsafe_b64encode(b"[NaN,1]").decode(),
    ],
    ids=ascii,
)
async def test_list_discussions_rejects_invalid_cursor(discussions: Discussions, cursor: str) -> None:
    with pytest.raises(UsageError, match="cursor"):
        await discussions.list_discussions(ANNA, cursor=cursor)


async def test_list_discussions_filters_by_status_project_and_words(
    database: Database, discussions: Discussions
) -> None:
    owl = await create_discussion(database, ANNA, "Is this about cheese?", "It is about owls.", title="Birds")
    tea = await create_discussion(database, ANNA, "Is there tea?", title="An owl at tea")
    await create_discussion(database, BERT, "Owls, owls, owls", title="Owls")
    await discussions.update_discussion(ANNA, tea.id, {"status": "archived"})
    assert await list_all_pages(discussions, 1, q="owl") == [[tea.id], [owl.id]]
    assert await list_all_pages(discussions, 5, q="cheese owls") == [[]]
    assert await list_all_pages(discussions, 5, q="owls about") == [[owl.id]]
    assert await list_all_pages(discussions, 5, q="  ") == await list_all_pages(discussions, 5)
    assert await list_all_pages(discussions, 5, status="archived") == [[tea.id]]
    assert await list_all_pages(discussions, 5, status="active", q="owl") == [[owl.id]]
    assert await list_all_pages(discussions, 5, status="completed") == [[]]
    assert await list_all_pages(discussions, 5, project="project_none") == [[]]


async def test_search_hit_shows_newest_matching_message(database: Database, discussions: Discussions) -> None:
    owl = await create_discussion(database, ANNA, "Is an owl a bird?", "An owl is one.", "Why?", title="Birds")
    tea = await create_discussion(database, ANNA, "Is there tea?", title="An owl at tea")
    await create_discussion(database, BERT, "Owls, owls, owls", title="Owls")
    messages = await discussions.list_messages(owl.id)
    page = await discussions.list_discussions(ANNA, q="ow")
    assert {one.id for one in page.discussions} == {owl.id, tea.id}
    assert page.hits == (SearchHit("An ", "owl", " is one.", discussion=owl.id, message=messages[1].id),)
    for q in (None, "  ", '"'):
        assert (await discussions.list_discussions(ANNA, q=q)).hits == ()


async def test_search_ignores_hidden_messages(database: Database, discussions: Discussions) -> None:
    found = await create_discussion(database, ANNA, "Is this about cheese?")
    async with database.write() as connection:
        await connection.execute(update(message).values(hidden=True))
    assert await list_all_pages(discussions, 5, q="cheese") == [[]]
    assert await discussions.list_messages(found.id, include_hidden=False) == ()
    assert len(await discussions.list_messages(found.id)) == 1


async def test_update_discussion_stores_notifies_and_moves_to_front(
    database: Database, discussions: Discussions
) -> None:
    old, new = await create_discussions(database, [1.0, 2.0])
    async with collect_notifications(database, "moot_changes") as notifications:
        changed = await discussions.update_discussion(ANNA, old.id, {"title": "Other", "model": "openai/x"})
        await wait_until(lambda: notifications == [f"{ANNA} {old.id}"])
    assert changed == await discussions.get_discussion(ANNA, old.id)
    assert changed == replace(old, title="Other", model="openai/x", updated_at=changed.updated_at)
    assert changed.updated_at > new.updated_at
    assert (await discussions.list_discussions(ANNA)).discussions == (changed, new)


async def test_reactivate_discussion_changes_only_that_discussion(database: Database, discussions: Discussions) -> None:
    one, other = await create_discussions(database, [1.0, 2.0])
    async with database.write() as connection:
        await connection.execute(update(table).values(status="archived"))
        await reactivate_discussion(connection, one.id, 3.0)
    first, second = [await discussions.get_discussion(ANNA, each.id) for each in (one, other)]
    assert (first.status, first.updated_at) == ("active", 3.0)
    assert (second.status, second.updated_at) == ("archived", 2.0)


async def test_update_discussion_rejects_unknown_project(database: Database, discussions: Discussions) -> None:
    new = await create_discussion(database)
    with pytest.raises(IntegrityError):
        await discussions.update_discussion(ANNA, new.id, {"project": "project_none"})
    assert await discussions.get_discussion(ANNA, new.id) == new


async def test_delete_discussion_removes_dependents_and_notifies(database: Database, discussions: Discussions) -> None:
    deleted, remaining = (
        await create_discussion(database, ANNA, "bye"),
        await create_discussion(database, ANNA, "stay"),
    )
    over = await create_run(database, deleted, question="bye again")
    async with database.write() as connection:
        await connection.execute(insert(run_event).values(run=over.id, seq=1, body="{}"))
        await connection.execute(update(run).values(status="completed"))
    async with collect_notifications(database, "moot_changes") as notifications:
        await discussions.delete_discussion(ANNA, deleted.id)
        await wait_until(lambda: notifications == [f"{ANNA} {deleted.id}"])
    with pytest.raises(NotFound):
        await discussions.get_discussion(ANNA, deleted.id)
    async with database.read() as connection:
        for left, count in ((table, 1), (message, 1), (run, 0), (run_event, 0)):
            found = await connection.execute(select(func.count()).select_from(left))
            assert found.scalar() == count, left.name
    assert await list_all_pages(discussions, 5, q="bye") == [[]]
    assert await list_all_pages(discussions, 5, q="stay") == [[remaining.id]]


async def test_delete_discussion_is_rejected_while_a_run_is_live(database: Database, discussions: Discussions) -> None:
    new = await create_discussion(database)
    live = await create_leased_run(database, new)
    with pytest.raises(Conflict, match=live.run):
        await discussions.delete_discussion(ANNA, new.id)
    assert await discussions.live_runs(ANNA, new.id) != ()


async def test_delete_and_new_run_at_once_do_not_both_succeed(database: Database, discussions: Discussions) -> None:
    for _ in range(10):
        new = await create_discussion(database)
        deleted, started = await asyncio.gather(
            discussions.delete_discussion(ANNA, new.id), create_run(database, new), return_exceptions=True
        )
        if deleted is None:
            assert isinstance(started, IntegrityError)
        else:
            assert isinstance(deleted, Conflict)
            assert (await discussions.live_runs(ANNA, new.id))[0].id == started.id  # type: ignore[union-attr]


async def test_list_messages_returns_messages_in_order(database: Database, discussions: Discussions) -> None:
    await create_discussion(database, ANNA, "elsewhere")
    new = await create_discussion(database, ANNA, *map(str, range(7)))
    everything = await discussions.list_messages(new.id)
    assert [one.content for one in everything] == list(map(str, range(7)))
    numbers = [one.seq for one in everything]
    assert numbers == sorted(set(numbers))
    assert await discussions.list_messages(new.id, limit=3) == everything[-3:]
    assert await discussions.list_messages(new.id, limit=3, before=numbers[4]) == everything[1:4]
    assert await discussions.list_messages(new.id, limit=3, before=numbers[1]) == everything[:1]
    assert await discussions.list_messages(new.id, before=numbers[0]) == ()
    assert await discussions.list_messages("dis_none") == ()


async def test_list_messages_hides_messages_of_later_runs(database: Database, discussions: Discussions) -> None:
    new = await create_discussion(database, ANNA, "Before.", "So.")
    older = await lease_run(database, (await create_run(database, new, question="Old?")).id)
    newer = await lease_run(database, (await create_run(database, new, question="New?")).id)
    await EventLog(database).write_entries([EventLogEntry(newer, 1, ["{}"], RunRecords([make_answer(newer, "New.")]))])
    await EventLog(database).write_entries(
        [EventLogEntry(older, 1, ["{}"], RunRecords([make_answer(older, "Old, and late.")]))]
    )
    shown = [
        [m.content for m in await discussions.list_messages(new.id, max_position=one.position)]
        for one in (older, newer)
    ]
    assert shown == [
        ["Before.", "So.", "Old?", "Old, and late."],
        ["Before.", "So.", "Old?", "Old, and late.", "New?", "New."],
    ]


async def test_message_round_trips_through_database(database: Database, discussions: Discussions) -> None:
    new = await create_discussion(database)
    status: TurnStatus = "partial"
    stored = Message(
        id="msg_1",
        discussion=new.id,
        run=(await create_run(database, new)).id,
        role="assistant",
        content="Ünïcode 😀\n\u2028 and ' quotes",
        participant="alpha",
        name="Alpha",
        stage="round",
        round=1,
        status=status,
        thoughts="Hm.",
        details="More.",
        provider="openai",
        model="openai/gpt-5",
        usage=Usage(1, 2, 3, 4, 5, estimated=True),
        cost_usd=0.1 + 0.2,
        latency_seconds=1.5,
        first_token_seconds=0.25,
        fault=make_fault("network", "It broke.", retry_after=1.5),
        visible_to=("alpha", "beta"),
        hidden=True,
        view="blind",
        visible_until=41,
        instructions="Go on.",
        created_at=1.0625,
    )
    async with database.write() as connection:
        number = await add_message(connection, ANNA, stored)
    assert await discussions.get_message(new.id, "msg_1") == replace(stored, seq=number)
    for discussion, id in (("dis_none", "msg_1"), (new.id, "msg_none")):
        with pytest.raises(NotFound):
            await discussions.get_message(discussion, id)
    version_fields = {
        "version",
        "versions",
        "version_id",
        "revised_seq",
        "edited",
    }  # computed from all versions of a turn
    assert set(asdict(stored)) - version_fields == {column.name for column in message.c} - {"tenant", "position"}


async def test_live_run_counts_groups_by_discussion_of_owner(database: Database, discussions: Discussions) -> None:
    mine, hers = await create_discussion(database), await create_discussion(database, BERT)
    await create_run(database, mine)
    await create_run(database, mine)
    await create_run(database, hers, owner=BERT)
    assert await discussions.live_run_counts(ANNA) == (ActiveDiscussion(discussion=mine.id, runs=2),)
    assert await discussions.live_run_counts("nobody") == ()


async def test_replace_title_applies_only_to_expected_title(database: Database, discussions: Discussions) -> None:
    made = await create_discussion(database, title="First words")
    async with database.write() as connection:
        assert not await replace_title(connection, BERT, made.id, "Hers", "First words")
        assert await replace_title(connection, ANNA, made.id, "Found", "First words")
        assert not await replace_title(connection, ANNA, made.id, "Late", "First words")
    assert (await discussions.get_discussion(ANNA, made.id)).title == "Found"


class QueryPlanRecorder:
    """Records the SELECT statements of a database and explains their query plans."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._statements: list[tuple[str, Any]] = []
        event.listen(database._read_engine.sync_engine, "before_cursor_execute", self._record_statement)

    def _record_statement(self, _: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        if statement.startswith("SELECT"):
            self._statements.append((statement, parameters))

    async def query_plans(self) -> list[str]:
        how = "EXPLAIN " if self._database.is_postgres else "EXPLAIN QUERY PLAN "
        asked, found = list(self._statements), []
        async with self._database.read() as connection:
            for statement, parameters in asked:
                rows = await connection.exec_driver_sql(how + statement, parameters)
                found.append("\n".join(str(row[-1]) for row in rows))
        return found


async def fill_tables(database: Database) -> None:
    """Fill the tables, so that a full scan is not the cheapest plan."""
    like = await create_discussion(database)
    plan = RunPlan(mode="single", participants=like.participants)
    ids = [f"copy{n}" for n in range(2000)]
    rows: dict[Table, list[dict[str, Any]]] = {table: [], run: [], message: [], run_event: []}
    for n, id in enumerate(ids):
        again = replace(like, id=id, updated_at=float(n))
        ended = Run(id=id, discussion=id, message=None, mode="single", status="completed", created_at=0.0)
        new = Message(id=id, discussion=id, role="user", content="words")
        rows[table].append({**asdict(again), "tenant": ANNA})
        rows[run].append({**asdict(ended), "tenant": ANNA, "plan": plan})
        rows[message].append(message_values(ANNA, new, position=n))
        rows[run_event].append({"run": id, "seq": 1, "body": "{}"})
    async with database.write() as connection:
        for into, values in rows.items():
            await connection.execute(insert(into), values)
        if database.is_postgres:
            await connection.exec_driver_sql("ANALYZE")


async def test_list_queries_use_indexes(database: Database, discussions: Discussions) -> None:
    await fill_tables(database)
    explained = QueryPlanRecorder(database)
    first = await discussions.list_discussions(ANNA, limit=20)
    await discussions.list_discussions(ANNA, limit=20, cursor=first.next)
    await discussions.get_discussion(ANNA, "copy7")
    await discussions.list_messages("copy7", limit=20)
    await discussions.list_messages("copy7", limit=20, before=1500)
    await discussions.live_runs(ANNA)
    await discussions.live_runs(ANNA, "copy7")
    await discussions.live_run_counts(ANNA)
    await EventLog(database).read_events("copy7", 5)
    await EventLog(database).run_progress(ANNA, "copy7")
    await Runs(database).has_earlier_live_run("copy7")
    await Runs(database).list_worker_runs("nobody")
    plans = await explained.query_plans()
    assert len(plans) == 13
    for plan in plans:
        assert "SCAN" not in plan, plan
        assert "Seq Scan" not in plan, plan
    for page in plans[:5]:
        assert "Sort" not in page, page
        assert "B-TREE" not in page, page


async def test_find_message_requires_owner_but_not_discussion(database: Database, discussions: Discussions) -> None:
    (found,) = await discussions.list_messages((await create_discussion(database, ANNA, "Why?")).id)
    assert await discussions.find_message(ANNA, found.id) == found
    for owner, id in ((BERT, found.id), (ANNA, "msg_0")):
        with pytest.raises(NotFound):
            await discussions.find_message(owner, id)


def test_message_values_drop_null_characters() -> None:
    new = Message(id="msg_1", discussion="dis_1", role="assistant", content="no\0thing", thoughts="\0")
    values = message_values(ANNA, new, 1)
    assert (values["content"], values["thoughts"]) == ("nothing", "")


async def test_run_messages_returns_all_versions_of_one_run(database: Database, discussions: Discussions) -> None:
    new = await create_discussion(database)
    asked = await lease_run(database, (await create_run(database, new, question="Why?")).id)
    other = await create_leased_run(database, new)
    first = make_answer(asked, "First.")
    answers = [first, make_answer(other, "Elsewhere."), make_answer(asked, "Second.", participant="beta")]
    again = replace(make_answer(asked, "Anew.", round=1), version_of=first.id)
    async with database.write() as connection:
        for one in (*answers, again):
            await add_message(connection, ANNA, one)
    found = await discussions.run_messages(asked.run)
    assert [one.content for one in found] == ["Why?", "First.", "Second.", "Anew."]
    assert [one.seq for one in found] == sorted(one.seq for one in found)
    assert await discussions.run_messages("run_none") == ()


async def test_participant_thread_starts_with_question_and_shows_current_versions(
    database: Database, discussions: Discussions
) -> None:
    new = await create_discussion(database)
    run_of = await create_run(database, new, question="Why?")
    asked, other = await lease_run(database, run_of.id), await create_leased_run(database, new)
    instructions = replace(make_answer(asked, "Read the others.", round=1), role="user", participant=None, hidden=True)
    first, beta = make_answer(asked, "First."), make_answer(asked, "Of Beta.", participant="beta")
    again = replace(make_answer(asked, "Anew.", round=2), version_of=first.id)
    threads = [
        (first, "alpha"),
        (beta, "beta"),
        (make_answer(other, "In another run."), "alpha"),
        (instructions, "alpha"),
        (make_answer(asked, "For all.", round=3), None),
        (again, None),
    ]
    async with database.write() as connection:
        for one, thread in threads:
            await add_message(connection, ANNA, replace(one, thread=thread))
    found = await discussions.participant_thread(asked.run, "alpha", run_of.message)
    assert [one.content for one in found] == ["Why?", "Anew.", "Read the others."]
    assert (found[1].id, found[1].version) == (first.id, 2)
    unasked = await discussions.participant_thread(asked.run, "beta", None)
    assert [one.content for one in unasked] == ["Of Beta."]
    assert await discussions.participant_thread(asked.run, "gamma", None) == ()
