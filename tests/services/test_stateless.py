"""One turn for a client that keeps the state: who speaks, what is told of it, who pays, and how it ends."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from moot.engine.runs.ephemeral import MAX_QUEUED_BATCHES
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.services import stateless_request as reading
from moot.services.model_tasks import ModelTasks
from moot.services.stateless import INTERNAL_ERROR_MESSAGE, INTERRUPTED_MESSAGE, StatelessService
from moot.services.stateless_request import Lesson
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.schema import charge, metadata
from moot.streaming import cancellation
from moot.types.actions import parse_action
from moot.types.billing import Payer
from moot.types.errors import UsageError
from moot.types.requests import ModelRequest
from moot.types.stateless import EVENT_NAMES, ChatEvent, CueUser, Done, DroppedEvent, Error, TextEvent
from moot.whiteboard.state import RecordedAction, replay_actions
from tests.databases import migrated
from tests.engine.tables import SPEAKER, Recorded
from tests.lessons import CLASS, LI, MIRA, QUESTION, TOM, drawn, lesson, response, state
from tests.store.people import ANNA, settle

PAYER = Payer(tenant=ANNA, account=ANNA)
DEAR = 1_000_000.0  # a dollar a token
SAYING = json.dumps(
    [
        {"type": "action", "name": "wb_open", "params": {}},
        {"type": "text", "content": "Look."},
        {"type": "action", "name": "wb_fly", "params": {}},
        {"type": "text", "content": " Well?"},
    ]
)
ENDLESS = Script(answer='[{"type":"text","content":"on and ' + "on and " * 50, fault="endless", price=DEAR)
DIRECTING = "You may choose"  # what only a director reads


class Counting(Recorded):
    """Scripts that remember how much of them was heard."""

    chunks = 0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        async with aclosing(super().stream_chunks(request, key)) as stream:
            async for chunks in stream:
                self.chunks += 1
                yield chunks


class Desk:
    """Where turns are taken, by a model that follows scripts, and what was paid for them."""

    def __init__(self, database: Database, budget: float | None = None, **scripts: Script) -> None:
        self.database = database
        self.provider = Counting(scripts)
        self.stateless = StatelessService(
            database, SPEAKER, ModelTasks(database, SPEAKER, Budgets(database, budget))
        )

    def chains(self, lesson: Lesson) -> Mapping[str, list[ResolvedModel]]:
        names = {lesson.director, *(who.model for who in lesson.plan.participants)}
        return {
            name: [ResolvedModel(name, self.provider, name.partition("/")[2], KeyRing(()))] for name in names
        }

    async def turn(self, lesson: Lesson, payer: Payer | None = PAYER) -> list[ChatEvent]:
        events = self.stateless.stream_turn(lesson, self.chains(lesson), payer)
        return [event async for some in events for event in some]

    async def paid(self) -> list[tuple[str, float | None]]:
        async with self.database.read() as connection:
            rows = await connection.execute(
                select(charge.c.purpose, charge.c.cost).order_by(charge.c.created_at)
            )
            return [(row.purpose, row.cost) for row in rows]

    async def over(self) -> None:
        """Wait until nothing is going on any more."""
        async with asyncio.timeout(60):
            while len(self.stateless):
                await asyncio.sleep(0.001)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with migrated("sqlite", tmp_path) as database:
        await settle(database)
        yield database


def names(events: list[ChatEvent]) -> list[str]:
    return [EVENT_NAMES[type(event)] for event in events]


def spoken(events: list[ChatEvent]) -> str:
    return "".join(event.content for event in events if isinstance(event, TextEvent))


def done(events: list[ChatEvent]) -> Done:
    assert isinstance(events[-1], Done), events[-1]
    return events[-1]


def speaker(events: list[ChatEvent]) -> str:
    return done(events).director_state.agent_responses[-1].agent_id


async def test_an_agent_speaks_and_acts(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING, chunk=1000))
    events = await desk.turn(lesson())
    assert names(events) == [
        "thinking",
        "thinking",
        "agent_start",
        "action",
        "text_delta",
        "action_dropped",
        "text_delta",
        "agent_end",
        "done",
    ]
    assert spoken(events) == "Look. Well?"
    (dropped,) = [event for event in events if isinstance(event, DroppedEvent)]
    assert dropped.action_name == "wb_fly"
    assert (done(events).total_actions, done(events).agent_had_content) == (1, True)
    (response,) = done(events).director_state.agent_responses
    assert (response.content_preview, response.action_count) == ("Look. Well?", 1)


async def test_alone_one_speaks_once_and_then_the_user_is_cued(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING))
    events = await desk.turn(lesson(directorState=state(response("mira"))))
    assert events[1:-1] == [CueUser(from_agent_id="mira")]
    assert (done(events).total_agents, done(events).director_state.turn_count) == (0, 1)
    assert desk.provider.asked == [], "nobody had to be asked"


async def test_the_trigger_speaks_first_and_nobody_is_asked_who(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING))
    events = await desk.turn(lesson(MIRA, TOM, LI, config={"triggerAgentId": "li"}))
    assert speaker(events) == "li"
    assert len(desk.provider.asked) == 1


async def test_a_model_decides_where_the_rules_do_not(database: Database) -> None:
    choice = '{"next": "li", "reason": "Li has not spoken."}'
    desk = Desk(database, m=Script(answer=SAYING, when={DIRECTING: choice}, price=DEAR))
    events = await desk.turn(lesson(MIRA, TOM, LI, directorState=state(response("mira"))))
    assert speaker(events) == "li"
    assert [purpose for purpose, cost in await desk.paid() if cost] == ["director", "answer"]


async def test_the_director_may_give_the_word_to_the_user(database: Database) -> None:
    choice = '{"next": "USER", "reason": "Is that clear?"}'
    desk = Desk(database, m=Script(answer=SAYING, when={DIRECTING: choice}, price=DEAR))
    events = await desk.turn(lesson(MIRA, TOM, directorState=state(response("tom"))))
    assert events[1:-1] == [CueUser(from_agent_id="tom", prompt="Is that clear?")]
    assert [purpose for purpose, _ in await desk.paid()] == ["director"]


@pytest.mark.parametrize("answer", ["Li, I think.", '{"next": "nobody", "reason": ""}', ""])
async def test_an_unreadable_director_does_not_hold_up_the_lesson(database: Database, answer: str) -> None:
    desk = Desk(database, m=Script(answer=SAYING, when={DIRECTING: answer}))
    events = await desk.turn(lesson(MIRA, TOM, directorState=state(response("mira"))))
    assert speaker(events) == "tom"


@pytest.mark.parametrize(
    "before",
    [
        state(response("mira"), response("tom-", ""), response("mira", " ")),
        state(*[response("mira"), response("tom")] * 5),
        {"turnCount": 1_000_000},
    ],
)
async def test_a_lesson_ends_when_it_should(database: Database, before: dict[str, Any]) -> None:
    desk = Desk(database, m=Script(answer=SAYING))
    events = await desk.turn(lesson(MIRA, TOM, directorState=before))
    assert names(events) == ["thinking", "done"]
    assert done(events).director_state.turn_count == before["turnCount"]
    assert desk.provider.asked == []


async def test_what_fails_before_a_word_is_tried_again_unseen(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING, fault="overloaded", fault_times=2))
    events = await desk.turn(lesson())
    assert spoken(events) == "Look. Well?"
    assert names(events).count("agent_start") == 1
    assert len(desk.provider.asked) == 3


async def test_what_fails_after_a_word_is_not(database: Database) -> None:
    desk = Desk(
        database, m=Script(answer='[{"type":"text","content":"Look at this"}]', fault="reset", fault_after=5)
    )
    events = await desk.turn(lesson())
    assert names(events)[-3:] == ["agent_end", "error", "done"]
    assert spoken(events).startswith("Look")
    assert done(events).agent_had_content
    assert len(desk.provider.asked) == 1


async def test_a_turn_that_fails_says_why_and_counts_as_silent(database: Database) -> None:
    desk = Desk(database, m=Script(fault="unauthorized"))
    events = await desk.turn(lesson())
    assert names(events)[-3:] == ["agent_end", "error", "done"]
    assert isinstance(told := events[-2], Error)
    assert "scripted" in told.message
    assert not done(events).agent_had_content
    assert done(events).director_state.turn_count == 1
    assert await desk.paid() == []


async def test_with_a_key_of_its_own_a_client_pays_nothing_here(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING, price=DEAR))
    assert done(await desk.turn(lesson(), payer=None)).agent_had_content
    assert await desk.paid() == []


async def test_nothing_is_kept_but_what_it_cost(database: Database) -> None:
    async def rows() -> dict[str, int]:
        async with database.read() as connection:
            return {
                table.name: len((await connection.execute(select(table))).all())
                for table in metadata.sorted_tables
            }

    before = await rows()
    await Desk(database, m=Script(answer=SAYING, price=DEAR)).turn(lesson())
    assert await rows() == {**before, "charge": 1}


async def test_whoever_leaves_stops_the_model_and_pays_for_what_was_said(database: Database) -> None:
    desk = Desk(database, m=ENDLESS)
    asked = lesson()
    async with aclosing(desk.stateless.stream_turn(asked, desk.chains(asked), PAYER)) as events:
        async for some in events:
            if spoken(some):
                break
    await desk.over()
    assert desk.provider.closed == 1
    assert desk.provider.chunks < 100, "and not because it had said all that it may"
    ((purpose, cost),) = await desk.paid()
    assert (purpose, bool(cost)) == ("answer", True)


async def test_whoever_leaves_while_the_director_thinks_stops_that_too(database: Database) -> None:
    desk = Desk(database, m=Script(fault="endless", answer="Hm. ", price=DEAR, pace=0.001))
    asked = lesson(MIRA, TOM, directorState=state(response("mira")))
    async with aclosing(desk.stateless.stream_turn(asked, desk.chains(asked), PAYER)) as events:
        await anext(events)
        async with asyncio.timeout(60):
            while desk.provider.chunks < 3:
                await asyncio.sleep(0.001)
    await desk.over()
    assert (len(desk.provider.asked), desk.provider.closed) == (1, 1)
    assert [purpose for purpose, _ in await desk.paid()] == ["director"]


async def test_a_reader_that_reads_nothing_holds_up_the_model_and_may_leave(database: Database) -> None:
    desk = Desk(database, m=ENDLESS)
    asked = lesson()
    async with aclosing(desk.stateless.stream_turn(asked, desk.chains(asked), PAYER)) as events:
        await anext(events)
        async with asyncio.timeout(60):
            while desk.provider.chunks < MAX_QUEUED_BATCHES:
                await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert desk.provider.chunks < MAX_QUEUED_BATCHES + 10
        assert (len(desk.stateless), desk.provider.closed) == (1, 0)
    await desk.over()
    assert desk.provider.closed == 1
    assert len(await desk.paid()) == 1


async def test_when_the_server_ends_readers_are_told_and_words_are_paid(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "CLOSE_TIMEOUT_SECONDS", 60.0)
    desk = Desk(database, m=ENDLESS)
    reading = asyncio.create_task(desk.turn(lesson()))
    async with asyncio.timeout(60):
        while not desk.provider.asked:
            await asyncio.sleep(0.001)
        await desk.stateless.close()
        events = await reading
    assert names(events)[-2:] == ["agent_end", "error"]
    assert events[-1] == Error(message=INTERRUPTED_MESSAGE)
    assert (desk.provider.closed, len(desk.stateless)) == (1, 0)
    assert len(await desk.paid()) == 1


async def test_a_turn_that_nobody_begins_to_read_is_not_begun(database: Database) -> None:
    desk = Desk(database, m=Script(answer=SAYING))
    asked = lesson()
    await desk.stateless.stream_turn(asked, desk.chains(asked), PAYER).aclose()
    assert (len(desk.stateless), desk.provider.asked) == (0, [])


async def test_a_mistake_of_ours_is_logged_and_ends_the_turn(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(reading, "render_lesson_state", broken)
    desk = Desk(database, m=Script(answer=SAYING))
    events = await desk.turn(lesson())
    assert events[-1] == Error(message=INTERNAL_ERROR_MESSAGE)
    assert "a turn without a state failed" in caplog.text


async def test_a_turn_that_cannot_be_paid_ends_all_the_same(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    desk = Desk(database, m=Script(answer=SAYING, price=DEAR))
    stranger = Payer(tenant="nobody", account=None)
    assert done(await desk.turn(lesson(), payer=stranger)).agent_had_content
    assert "a turn without a state could not be paid" in caplog.text
    assert len(desk.stateless) == 0


async def test_in_a_rush_each_sees_what_the_one_before_has_cost(database: Database) -> None:
    desk = Desk(database, budget=1.0, m=Script(answer=SAYING, price=DEAR))
    turns = await asyncio.gather(*(desk.turn(lesson()) for _ in range(10)))
    refused = [events for events in turns if names(events) == ["error"]]
    assert len(refused) == 9
    assert isinstance(told := refused[0][0], Error)
    assert "budget" in told.message
    assert len(desk.provider.asked) == 1


async def test_the_sample_lesson_comes_to_the_user_in_eight_calls(database: Database) -> None:
    desk = Desk(database)
    kept: dict[str, Any] | None = None
    order = []
    for _ in range(20):
        asked = lesson(*CLASS, words=QUESTION, model="scripted/teacher", directorState=kept)
        events = await desk.turn(asked)
        if "cue_user" in names(events):
            break
        order.append(speaker(events))
        kept = json.loads(_encoded(done(events)))
    assert order == ["alpha", "gamma", "beta", "delta", "beta", "alpha", "gamma"]
    ledger = done(events).director_state.whiteboard_ledger
    board = replay_actions(
        RecordedAction(participant=one.agent_id, action=parse_action(one.action_name, one.params, None))
        for one in ledger
    )
    assert [(one.id, one.by) for one in board.elements] == [
        ("title", "alpha"),
        ("odd-law", "alpha"),
        ("code-odd", "beta"),
        ("sums", "alpha"),
        ("growing-square", "alpha"),
        ("edge", "alpha"),
    ]


def _encoded(done: Done) -> bytes:

    return msgspec.json.encode(done.director_state)


IDS = st.sampled_from(["mira", "tom", "li", "stranger", "USER", "x" * 100])
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PARAMS = st.dictionaries(
    st.sampled_from(
        ["elementId", "x", "y", "shape", "content", "code", "data", "lineIds", "operation", "odd"]
    ),
    ANYTHING | st.sampled_from(["circle", "L1", "shape-1", "insert_after"]),
    max_size=6,
)
ACTIONS = st.sampled_from(
    ["wb_open", "wb_clear", "wb_draw_shape", "wb_draw_code", "wb_edit_code", "spotlight", "fly"]
)
DRAWN = st.builds(lambda name, who, params: drawn(name, who, **params), ACTIONS, IDS, PARAMS)
RESPONSES = st.builds(
    lambda who, preview, count, actions: response(who, preview, actionCount=count, whiteboardActions=actions),
    IDS,
    st.text(max_size=200),
    st.integers(0, 1_000_000),
    st.lists(DRAWN, max_size=3),
)
STATES = st.fixed_dictionaries(
    {
        "turnCount": st.integers(0, 21) | st.just(1_000_000),
        "agentResponses": st.lists(RESPONSES, max_size=6),
        "whiteboardLedger": st.lists(DRAWN, max_size=6),
    }
)
PARTS = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["text", "action"]),
        "content": st.text(max_size=20),
        "name": ACTIONS,
        "params": PARAMS,
    }
)
SAID = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant"]),
        "content": st.text(max_size=40) | st.sampled_from(["Tom?", "Mira, go on", "Why?"]),
        "agentId": IDS,
        "parts": st.lists(PARTS, max_size=3),
        "interrupted": st.booleans(),
    }
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.lists(SAID, min_size=1, max_size=4),
    before=st.none() | STATES,
    present=st.lists(IDS, min_size=1, max_size=4),
    trigger=st.none() | IDS,
    script=st.sampled_from(["good", "odd", "unauthorized", "empty"]),
)
async def test_whatever_a_client_says_a_turn_has_an_end_that_can_be_sent_back(
    database: Database,
    said: list[Any],
    before: Any,
    present: list[str],
    trigger: str | None,
    script: str,
) -> None:
    desk = Desk(database, good=Script(answer=SAYING), odd=Script(answer='[{"type":"action","name":"wb_'))
    config = {"agentIds": present, "triggerAgentId": trigger}
    more = {"messages": said, "directorState": before, "config": config, "model": f"scripted/{script}"}
    try:
        asked = lesson(MIRA, TOM, LI, **more)
    except UsageError:
        assert not {"mira", "tom", "li"} & set(present)
        return
    events = await desk.turn(asked, payer=None)
    assert names(events)[-1] in {"done", "error"}
    assert events[-1] != Error(message=INTERNAL_ERROR_MESSAGE)
    kept = done(events).director_state
    assert kept.turn_count in {asked.state.turn_count, asked.state.turn_count + 1}
    again = lesson(MIRA, TOM, LI, **{**more, "directorState": json.loads(_encoded(done(events)))})
    assert again.state == kept
