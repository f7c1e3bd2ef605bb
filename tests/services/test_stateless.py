"""Stateless turns, whose client stores the state: the speaker, the events, the charges and the end."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select

from moot.engine.runs.ephemeral import MAX_QUEUED_BATCHES, EphemeralRuns
from moot.providers.keys import KeyRing
from moot.providers.provider import ChunkStream
from moot.providers.registry import ResolvedModel
from moot.providers.scripted.scripts import Script
from moot.services import stateless
from moot.services.billing import AccountBudgetGuard
from moot.services.model_tasks import ModelTasks
from moot.services.stateless import (
    INTERNAL_ERROR_MESSAGE,
    INTERRUPTED_MESSAGE,
    Lesson,
    StatelessTurn,
    stream_chat_events,
)
from moot.store.database import Database
from moot.store.schema import metadata
from moot.store.schema.billing import charge
from moot.streaming import cancellation
from moot.types.accounts import Caller
from moot.types.actions import parse_action
from moot.types.errors import UsageError
from moot.types.requests import ModelRequest
from moot.types.stateless import EVENT_NAMES, ChatEvent, CueUser, Done, DroppedEvent, Error, TextEvent
from moot.types.streams import BatchStream
from moot.whiteboard.state import RecordedAction, replay_actions
from tests.support.accounts import ANNA, create_accounts
from tests.support.databases import open_migrated_database
from tests.support.stateless_requests import (
    CLASS_AGENTS,
    LI,
    MIRA,
    QUESTION,
    TOM,
    agent_response,
    build_lesson,
    director_state,
    whiteboard_action,
)
from tests.support.stores import make_stores
from tests.support.table_harness import MODEL_CALLER, RecordingProvider

CALLER = Caller(tenant=ANNA, account=ANNA, name="Anna", kind="local")
DOLLAR_PER_TOKEN = 1_000_000.0  # a dollar per token
LESSON_ANSWER = json.dumps(
    [
        {"type": "action", "name": "wb_open", "params": {}},
        {"type": "text", "content": "Look."},
        {"type": "action", "name": "wb_fly", "params": {}},
        {"type": "text", "content": " Well?"},
    ]
)
ENDLESS_SCRIPT = Script(
    answer='[{"type":"text","content":"on and ' + "on and " * 50,
    fault="endless",
    usd_per_million_tokens=DOLLAR_PER_TOKEN,
)
DIRECTOR_PROMPT_MARKER = "You may choose"  # only in prompts of the director


class ChunkCountingProvider(RecordingProvider):
    """Scripted models that count the chunks they have sent."""

    chunks = 0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:
        async with aclosing(super().stream_chunks(request, key)) as stream:
            async for chunks in stream:
                self.chunks += 1
                yield chunks


class StatelessHarness:
    """Stateless turns with scripted models, and their charges."""

    def __init__(self, database: Database, budget: float | None = None, **scripts: Script) -> None:
        self.database = database
        self.provider = ChunkCountingProvider(scripts)
        self.turns = EphemeralRuns(MODEL_CALLER)
        self._model_tasks = ModelTasks(make_stores(database, budget), MODEL_CALLER)

    def stream_turn(self, lesson: Lesson, caller: Caller | None = CALLER) -> BatchStream[ChatEvent]:
        names = {lesson.director, *(who.model for who in lesson.plan.participants)}
        models = {name: [ResolvedModel(name, self.provider, name.partition("/")[2], KeyRing(()))] for name in names}
        budget_guard = AccountBudgetGuard(self._model_tasks, caller) if caller else None
        return stream_chat_events(lesson, self.turns.stream(StatelessTurn(lesson, models), budget_guard))

    async def collect_turn_events(self, lesson: Lesson, caller: Caller | None = CALLER) -> list[ChatEvent]:
        return [event async for some in self.stream_turn(lesson, caller) for event in some]

    async def charged_costs(self) -> list[tuple[str, float | None]]:
        async with self.database.read() as connection:
            rows = await connection.execute(select(charge.c.purpose, charge.c.cost_usd).order_by(charge.c.created_at))
            return [(row.purpose, row.cost_usd) for row in rows]

    async def wait_until_idle(self) -> None:
        """Wait until no turn is running."""
        async with asyncio.timeout(60):
            while len(self.turns):
                await asyncio.sleep(0.001)


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    async with open_migrated_database("sqlite", tmp_path) as database:
        await create_accounts(database)
        yield database


def event_names(events: list[ChatEvent]) -> list[str]:
    return [EVENT_NAMES[type(event)] for event in events]


def joined_text(events: Iterable[ChatEvent]) -> str:
    return "".join(event.content for event in events if isinstance(event, TextEvent))


def final_event(events: list[ChatEvent]) -> Done:
    assert isinstance(events[-1], Done), events[-1]
    return events[-1]


def last_speaker(events: list[ChatEvent]) -> str:
    return final_event(events).director_state.agent_responses[-1].agent_id


async def test_agent_turn_streams_text_and_actions(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER, chunk_chars=1000))
    events = await harness.collect_turn_events(build_lesson())
    assert event_names(events) == [
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
    assert joined_text(events) == "Look. Well?"
    (dropped,) = [event for event in events if isinstance(event, DroppedEvent)]
    assert dropped.action_name == "wb_fly"
    assert (final_event(events).total_actions, final_event(events).agent_had_content) == (1, True)
    (response,) = final_event(events).director_state.agent_responses
    assert (response.content_preview, response.action_count) == ("Look. Well?", 1)


async def test_single_agent_speaks_once_and_then_user_is_cued(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER))
    events = await harness.collect_turn_events(build_lesson(directorState=director_state(agent_response("mira"))))
    assert events[1:-1] == [CueUser(from_agent_id="mira")]
    assert (final_event(events).total_agents, final_event(events).director_state.turn_count) == (0, 1)
    assert harness.provider.requests == [], "no model is called"


async def test_trigger_agent_speaks_first_without_director_call(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER))
    events = await harness.collect_turn_events(build_lesson(MIRA, TOM, LI, config={"triggerAgentId": "li"}))
    assert last_speaker(events) == "li"
    assert len(harness.provider.requests) == 1


async def test_director_model_decides_when_rules_do_not(database: Database) -> None:
    choice = '{"next": "li", "reason": "Li has not spoken."}'
    harness = StatelessHarness(
        database,
        m=Script(
            answer=LESSON_ANSWER,
            answer_if_contains={DIRECTOR_PROMPT_MARKER: choice},
            usd_per_million_tokens=DOLLAR_PER_TOKEN,
        ),
    )
    events = await harness.collect_turn_events(
        build_lesson(MIRA, TOM, LI, directorState=director_state(agent_response("mira")))
    )
    assert last_speaker(events) == "li"
    assert [purpose for purpose, cost in await harness.charged_costs() if cost] == ["director", "answer"]


async def test_director_may_cue_the_user(database: Database) -> None:
    choice = '{"next": "USER", "reason": "Is that clear?"}'
    harness = StatelessHarness(
        database,
        m=Script(
            answer=LESSON_ANSWER,
            answer_if_contains={DIRECTOR_PROMPT_MARKER: choice},
            usd_per_million_tokens=DOLLAR_PER_TOKEN,
        ),
    )
    events = await harness.collect_turn_events(
        build_lesson(MIRA, TOM, directorState=director_state(agent_response("tom")))
    )
    assert events[1:-1] == [CueUser(from_agent_id="tom", prompt="Is that clear?")]
    assert [purpose for purpose, _ in await harness.charged_costs()] == ["director"]


@pytest.mark.parametrize("answer", ["Li, I think.", '{"next": "nobody", "reason": ""}', ""])
async def test_invalid_director_answer_falls_back_to_rules(database: Database, answer: str) -> None:
    harness = StatelessHarness(
        database, m=Script(answer=LESSON_ANSWER, answer_if_contains={DIRECTOR_PROMPT_MARKER: answer})
    )
    events = await harness.collect_turn_events(
        build_lesson(MIRA, TOM, directorState=director_state(agent_response("mira")))
    )
    assert last_speaker(events) == "tom"


@pytest.mark.parametrize(
    "before",
    [
        director_state(agent_response("mira"), agent_response("tom-", ""), agent_response("mira", " ")),
        director_state(*[agent_response("mira"), agent_response("tom")] * 5),
        {"turnCount": 1_000_000},
    ],
)
async def test_lesson_ends_after_silence_or_too_many_turns(database: Database, before: dict[str, Any]) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER))
    events = await harness.collect_turn_events(build_lesson(MIRA, TOM, directorState=before))
    assert event_names(events) == ["thinking", "done"]
    assert final_event(events).director_state.turn_count == before["turnCount"]
    assert harness.provider.requests == []


async def test_failure_before_first_text_is_retried_silently(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER, fault="overloaded", faulty_calls=2))
    events = await harness.collect_turn_events(build_lesson())
    assert joined_text(events) == "Look. Well?"
    assert event_names(events).count("agent_start") == 1
    assert len(harness.provider.requests) == 3


async def test_failure_after_first_text_is_not_retried(database: Database) -> None:
    harness = StatelessHarness(
        database, m=Script(answer='[{"type":"text","content":"Look at this"}]', fault="reset", fault_after_chunks=5)
    )
    events = await harness.collect_turn_events(build_lesson())
    assert event_names(events)[-3:] == ["agent_end", "error", "done"]
    assert joined_text(events).startswith("Look")
    assert final_event(events).agent_had_content
    assert len(harness.provider.requests) == 1


async def test_failed_turn_sends_error_and_counts_as_silent(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(fault="unauthorized"))
    events = await harness.collect_turn_events(build_lesson())
    assert event_names(events)[-3:] == ["agent_end", "error", "done"]
    assert isinstance(error := events[-2], Error)
    assert "scripted" in error.message
    assert not final_event(events).agent_had_content
    assert final_event(events).director_state.turn_count == 1
    assert await harness.charged_costs() == []


async def test_client_with_own_key_is_not_charged(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER, usd_per_million_tokens=DOLLAR_PER_TOKEN))
    assert final_event(await harness.collect_turn_events(build_lesson(), caller=None)).agent_had_content
    assert await harness.charged_costs() == []


async def test_stateless_turn_stores_only_its_charge(database: Database) -> None:
    async def rows() -> dict[str, int]:
        async with database.read() as connection:
            return {
                table.name: len((await connection.execute(select(table))).all()) for table in metadata.sorted_tables
            }

    before = await rows()
    await StatelessHarness(
        database, m=Script(answer=LESSON_ANSWER, usd_per_million_tokens=DOLLAR_PER_TOKEN)
    ).collect_turn_events(build_lesson())
    assert await rows() == {**before, "charge": 1}


async def test_disconnect_stops_the_model_and_charges_generated_text(database: Database) -> None:
    harness = StatelessHarness(database, m=ENDLESS_SCRIPT)
    async with aclosing(harness.stream_turn(build_lesson())) as events:
        async for some in events:
            if joined_text(some):
                break
    await harness.wait_until_idle()
    assert harness.provider.closed_streams == 1
    assert harness.provider.chunks < 100, "it was stopped before its output limit"
    ((purpose, cost),) = await harness.charged_costs()
    assert (purpose, bool(cost)) == ("answer", True)


async def test_disconnect_stops_the_director_call(database: Database) -> None:
    harness = StatelessHarness(
        database,
        m=Script(fault="endless", answer="Hm. ", usd_per_million_tokens=DOLLAR_PER_TOKEN, chunk_interval_seconds=0.001),
    )
    asked = build_lesson(MIRA, TOM, directorState=director_state(agent_response("mira")))
    async with aclosing(harness.stream_turn(asked)) as events:
        await anext(events)
        async with asyncio.timeout(60):
            while harness.provider.chunks < 3:
                await asyncio.sleep(0.001)
    await harness.wait_until_idle()
    assert (len(harness.provider.requests), harness.provider.closed_streams) == (1, 1)
    assert [purpose for purpose, _ in await harness.charged_costs()] == ["director"]


async def test_slow_reader_applies_backpressure_and_may_disconnect(database: Database) -> None:
    harness = StatelessHarness(database, m=ENDLESS_SCRIPT)
    async with aclosing(harness.stream_turn(build_lesson())) as events:
        await anext(events)
        async with asyncio.timeout(60):
            while harness.provider.chunks < MAX_QUEUED_BATCHES:
                await asyncio.sleep(0)
        for _ in range(100):
            await asyncio.sleep(0)
        assert harness.provider.chunks < MAX_QUEUED_BATCHES + 10
        assert (len(harness.turns), harness.provider.closed_streams) == (1, 0)
    await harness.wait_until_idle()
    assert harness.provider.closed_streams == 1
    assert len(await harness.charged_costs()) == 1


async def test_shutdown_sends_error_to_readers_and_charges_generated_text(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cancellation, "CLOSE_TIMEOUT_SECONDS", 60.0)
    harness = StatelessHarness(database, m=ENDLESS_SCRIPT)
    reading = asyncio.create_task(harness.collect_turn_events(build_lesson()))
    async with asyncio.timeout(60):
        while not harness.provider.requests:
            await asyncio.sleep(0.001)
        await harness.turns.close()
        events = await reading
    assert event_names(events)[-2:] == ["agent_end", "error"]
    assert events[-1] == Error(message=INTERRUPTED_MESSAGE)
    assert (harness.provider.closed_streams, len(harness.turns)) == (1, 0)
    assert len(await harness.charged_costs()) == 1


async def test_turn_is_not_started_when_stream_is_never_read(database: Database) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER))
    await harness.stream_turn(build_lesson()).aclose()
    assert (len(harness.turns), harness.provider.requests) == (0, [])


async def test_internal_error_is_logged_and_ends_the_turn(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(stateless, "render_lesson_state", broken)
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER))
    events = await harness.collect_turn_events(build_lesson())
    assert events[-1] == Error(message=INTERNAL_ERROR_MESSAGE)
    assert "stateless turn failed" in caplog.text


async def test_turn_completes_when_charge_cannot_be_recorded(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    harness = StatelessHarness(database, m=Script(answer=LESSON_ANSWER, usd_per_million_tokens=DOLLAR_PER_TOKEN))
    stranger = msgspec.structs.replace(CALLER, tenant="nobody")
    assert final_event(await harness.collect_turn_events(build_lesson(), stranger)).agent_had_content
    assert "stateless turn failed" in caplog.text
    assert len(harness.turns) == 0


async def test_concurrent_turns_check_budget_one_after_the_other(database: Database) -> None:
    harness = StatelessHarness(
        database, budget=1.0, m=Script(answer=LESSON_ANSWER, usd_per_million_tokens=DOLLAR_PER_TOKEN)
    )
    turns = await asyncio.gather(*(harness.collect_turn_events(build_lesson()) for _ in range(10)))
    refused = [events for events in turns if event_names(events) == ["error"]]
    assert len(refused) == 9
    assert isinstance(error := refused[0][0], Error)
    assert "budget" in error.message
    assert len(harness.provider.requests) == 1


async def test_sample_lesson_cues_user_after_seven_turns(database: Database) -> None:
    harness = StatelessHarness(database)
    state: dict[str, Any] | None = None
    order = []
    for _ in range(20):
        asked = build_lesson(*CLASS_AGENTS, words=QUESTION, model="scripted/teacher", directorState=state)
        events = await harness.collect_turn_events(asked)
        if "cue_user" in event_names(events):
            break
        order.append(last_speaker(events))
        state = json.loads(_encode_state(final_event(events)))
    assert order == ["alpha", "gamma", "beta", "delta", "beta", "alpha", "gamma"]
    ledger = final_event(events).director_state.whiteboard_ledger
    board = replay_actions(
        RecordedAction(participant=one.agent_id, action=parse_action(one.action_name, one.params, None))
        for one in ledger
    )
    assert [(one.id, one.participant) for one in board.elements] == [
        ("title", "alpha"),
        ("odd-law", "alpha"),
        ("code-odd", "beta"),
        ("sums", "alpha"),
        ("growing-square", "alpha"),
        ("edge", "alpha"),
    ]


def _encode_state(event: Done) -> bytes:

    return msgspec.json.encode(event.director_state)


IDS = st.sampled_from(["mira", "tom", "li", "stranger", "USER", "x" * 100])
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PARAMS = st.dictionaries(
    st.sampled_from(["elementId", "x", "y", "shape", "content", "code", "data", "lineIds", "operation", "odd"]),
    JSON_VALUES | st.sampled_from(["circle", "L1", "shape-1", "insert_after"]),
    max_size=6,
)
ACTIONS = st.sampled_from(["wb_open", "wb_clear", "wb_draw_shape", "wb_draw_code", "wb_edit_code", "spotlight", "fly"])
WHITEBOARD_ACTIONS = st.builds(lambda name, who, params: whiteboard_action(name, who, **params), ACTIONS, IDS, PARAMS)
RESPONSES = st.builds(
    lambda who, preview, count, actions: agent_response(who, preview, actionCount=count, whiteboardActions=actions),
    IDS,
    st.text(max_size=200),
    st.integers(0, 1_000_000),
    st.lists(WHITEBOARD_ACTIONS, max_size=3),
)
STATES = st.fixed_dictionaries(
    {
        "turnCount": st.integers(0, 21) | st.just(1_000_000),
        "agentResponses": st.lists(RESPONSES, max_size=6),
        "whiteboardLedger": st.lists(WHITEBOARD_ACTIONS, max_size=6),
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
MESSAGES = st.fixed_dictionaries(
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
    messages=st.lists(MESSAGES, min_size=1, max_size=4),
    before=st.none() | STATES,
    present=st.lists(IDS, min_size=1, max_size=4),
    trigger=st.none() | IDS,
    script=st.sampled_from(["good", "odd", "unauthorized", "empty"]),
)
async def test_any_client_state_gives_a_final_state_that_can_be_sent_back(
    database: Database,
    messages: list[Any],
    before: Any,
    present: list[str],
    trigger: str | None,
    script: str,
) -> None:
    harness = StatelessHarness(
        database, good=Script(answer=LESSON_ANSWER), odd=Script(answer='[{"type":"action","name":"wb_')
    )
    config = {"agentIds": present, "triggerAgentId": trigger}
    more = {"messages": messages, "directorState": before, "config": config, "model": f"scripted/{script}"}
    try:
        asked = build_lesson(MIRA, TOM, LI, **more)
    except UsageError:
        assert not {"mira", "tom", "li"} & set(present)
        return
    events = await harness.collect_turn_events(asked, caller=None)
    assert event_names(events)[-1] in {"done", "error"}
    assert events[-1] != Error(message=INTERNAL_ERROR_MESSAGE)
    final_state = final_event(events).director_state
    assert final_state.turn_count in {asked.state.turn_count, asked.state.turn_count + 1}
    again = build_lesson(MIRA, TOM, LI, **{**more, "directorState": json.loads(_encode_state(final_event(events)))})
    assert again.state == final_state
