"""Versions of what was said: made from what was there then, seen from then on, and never changing what was seen before."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import update

from moot.store.schema import account, message, run
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound, OverBudget
from moot.types.requests import ModelRequest
from tests.databases import SLOW_ON_POSTGRES
from tests.engine.parlour import CALLER, Parlour, parlour
from tests.store.people import ANNA, settled


@pytest.fixture(params=SLOW_ON_POSTGRES)
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Parlour]:
    async with settled(request.param, tmp_path) as database, parlour(database) as room:
        yield room


def words_of(request: ModelRequest) -> tuple[str, Any]:
    return request.system, request.messages


async def test_an_answer_is_given_anew_with_the_prompt_of_then(room: Parlour) -> None:
    opened = await room.open("consensus", 2)
    id = opened.discussion.id
    await room.say(id, "And then?")
    answers = await room.answers(id)
    for answer in answers:
        await room.again(id, answer.id, "scripted/other")
        new = room.provider.asked[-1]
        assert words_of(new) == words_of(room.sent(answer))
        assert new.model == "other"
    now = await room.answers(id)
    assert [one.id for one in now] == [one.id for one in answers]
    assert {(one.version, one.versions, one.model) for one in now} == {(2, 2, "scripted/other")}


async def test_the_run_is_that_of_one_turn_and_says_of_which(room: Parlour) -> None:
    opened = await room.open("debate", 2)
    (answer, *_) = await room.answers(opened.discussion.id)
    calls = len(room.provider.asked)
    started = await room.again(opened.discussion.id, answer.id)
    assert (started.message, started.run.again, started.run.status) == (None, answer.id, "completed")
    assert len(room.provider.asked) == calls + 1
    report = await room.house.reports.get_report(ANNA, started.run.id)
    assert (report.again, report.lanes) == (answer.id, ())


async def test_a_version_of_a_version_is_one_of_the_first(room: Parlour) -> None:
    opened = await room.open()
    id = opened.discussion.id
    (first,) = await room.answers(id)
    await room.again(id, first.id)
    (second,) = await room.answers(id)
    await room.again(id, second.version_id or "")
    listed = await room.house.revising.list_versions(CALLER, id, second.version_id or "")
    assert [one.version_of for one in listed.versions] == [None, first.id, first.id]
    (third,) = await room.answers(id)
    assert (third.id, third.version, third.version_id) == (first.id, 3, listed.current)


async def test_an_attempt_that_fails_is_no_version(room: Parlour) -> None:
    opened = await room.open()
    id = opened.discussion.id
    before = await room.answers(id)
    started = await room.again(id, before[0].id, "scripted/broken")
    assert started.run.status == "failed"
    assert await room.answers(id) == before
    assert len((await room.house.revising.list_versions(CALLER, id, before[0].id)).versions) == 1


async def test_an_answer_is_paid_for_as_any_other(room: Parlour) -> None:
    opened = await room.open()
    (answer,) = await room.answers(opened.discussion.id)
    async with room.house.database.write() as connection:
        await connection.execute(update(account).where(account.c.id == ANNA).values(budget=0.1))
    with pytest.raises(OverBudget):
        await room.again(opened.discussion.id, answer.id, "scripted/dear")
    await room.again(opened.discussion.id, answer.id)


async def test_a_key_makes_sure_that_it_is_done_once(room: Parlour) -> None:
    opened = await room.open()
    (answer,) = await room.answers(opened.discussion.id)
    revising = room.house.revising
    one = await revising.regenerate_answer(CALLER, opened.discussion.id, answer.id, key="k")
    assert (
        await revising.regenerate_answer(CALLER, opened.discussion.id, answer.id, key="k")
    ).run.id == one.run.id


async def test_what_is_no_answer_is_not_given_anew(room: Parlour) -> None:
    opened = await room.open("debate", 2)
    id, revising = opened.discussion.id, room.house.revising
    assert opened.message is not None
    with pytest.raises(NotFound, match="no turn of a participant"):
        await revising.regenerate_answer(CALLER, id, opened.message.id)
    (brief, *_) = await room.house.discussions.run_instructions(opened.run.id)
    for refused in (
        revising.regenerate_answer(CALLER, id, brief.id),
        revising.edit_turn(CALLER, id, brief.id, "No."),
    ):
        with pytest.raises(NotFound, match="nothing that somebody said"):
            await refused
    (answer, *_) = await room.answers(id)
    async with room.house.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(view=None))
    with pytest.raises(Conflict, match="not known"):
        await revising.regenerate_answer(CALLER, id, answer.id)


async def test_what_came_to_no_answer_is_tried_again_instead(room: Parlour) -> None:
    opened = await room.open(model="scripted/broken")
    id, revising = opened.discussion.id, room.house.revising
    (failed,) = await room.answers(id)
    for refused in (
        revising.regenerate_answer(CALLER, id, failed.id),
        revising.edit_turn(CALLER, id, failed.id, "Yes."),
    ):
        with pytest.raises(Conflict, match=f"{opened.run.id}/lanes/alpha/retry"):
            await refused


async def test_nothing_is_tried_again_beside_an_answer_that_is_given_anew(room: Parlour) -> None:
    opened = await room.open(model="scripted/broken")
    id = opened.discussion.id
    await room.house.discussions.update_discussion(ANNA, id, {"model": None})
    await room.say(id, "And now?")
    answer = (await room.answers(id))[-1]
    anew = await room.house.revising.regenerate_answer(CALLER, id, answer.id, "scripted/broken")
    room.house.retrying._start = lambda *_: None
    with pytest.raises(Conflict, match=anew.run.id):
        await room.house.retrying.retry_run(CALLER, opened.run.id)
    await room.played(anew)
    assert (await room.house.retrying.retry_run(CALLER, opened.run.id)).status == "waiting"
    with pytest.raises(Conflict, match=opened.run.id):
        await room.house.retrying.retry_run(CALLER, anew.run.id)


async def test_what_was_drawn_stays_when_words_are_edited(room: Parlour) -> None:
    opened = await room.open("directed", 1)
    (answer,) = await room.answers(opened.discussion.id)
    script = '[{"type":"text","content":"Look."},{"type":"action","name":"wb_open","params":{}}]'
    async with room.house.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(script=script))
    edited = await room.house.revising.edit_turn(CALLER, opened.discussion.id, answer.id, "See.")
    assert edited.script == script.replace("Look.", "See.")
    assert (await room.house.boards.whiteboard_at(ANNA, opened.discussion.id)).open


async def test_while_it_is_drawn_anew_the_board_has_the_new_drawing_only(room: Parlour) -> None:
    opened = await room.open("directed", 1)
    id = opened.discussion.id
    (answer,) = await room.answers(id)
    script = '[{"type":"action","name":"wb_open","params":{}}]'
    async with room.house.database.write() as connection:
        await connection.execute(update(message).where(message.c.id == answer.id).values(script=script))
    anew = await room.house.revising.regenerate_answer(CALLER, id, answer.id)
    assert not (await room.house.boards.whiteboard_at(ANNA, id)).open
    async with room.house.database.write() as connection:
        await connection.execute(update(run).where(run.c.id == anew.run.id).values(status="failed"))
    assert (await room.house.boards.whiteboard_at(ANNA, id, anew.run.id)).open


class History:
    """What happened in a discussion, and every answer that was given, as it was when it was given."""

    def __init__(self, room: Parlour, discussion: str) -> None:
        self.room = room
        self.discussion = discussion
        self.given: dict[str, Message] = {}

    async def happen(self, step: tuple[str, int, int]) -> None:
        match step:
            case ("say", seats, mode):
                chosen = list(MODES)[mode % len(MODES)]
                changes: dict[str, Any] = {"mode": chosen}
                await self.room.house.discussions.update_discussion(ANNA, self.discussion, changes)
                to = ("alpha",) if seats % 4 == 0 and chosen in {"single", "parallel"} else None
                await self.room.say(self.discussion, f"Message {len(self.given)}", to=to)
            case ("again", which, model):
                turn = self._one(await self.room.answers(self.discussion), which)
                await self.room.again(self.discussion, turn, [None, "scripted/other"][model % 2])
            case ("edit", which, words):
                turn = self._one(await self.room.messages(self.discussion), which)
                await self.room.house.revising.edit_turn(CALLER, self.discussion, turn, f"Edited {words}")
            case ("choose", which, version):
                turn = self._one(await self.room.messages(self.discussion), which)
                there = (await self.room.house.revising.list_versions(CALLER, self.discussion, turn)).versions
                chosen = there[version % len(there)].id
                await self.room.house.revising.select_version(CALLER, self.discussion, turn, chosen)
        await self.note()

    def _one(self, of: Any, which: int) -> str:
        return str(of[which % len(of)].id)

    async def note(self) -> None:
        for answer in await self.room.answers(self.discussion):
            if answer.content.startswith("#"):
                self.given.setdefault(answer.content, answer)


MODES = ("single", "parallel", "consensus", "debate", "advisors", "directed")
STEPS = st.tuples(
    st.sampled_from(["say", "say", "again", "edit", "choose"]), st.integers(0, 20), st.integers(0, 20)
)


@settings(  # one plays up to eight runs
    max_examples=max(5, settings().max_examples // 25),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=st.sampled_from(MODES), steps=st.lists(STEPS, max_size=7))
async def test_whatever_happened_since_every_prompt_is_told_as_it_was_sent(
    room: Parlour, first: str, steps: list[tuple[str, int, int]]
) -> None:
    opened = await room.open(first, 3)
    history = History(room, opened.discussion.id)
    await history.note()
    for step in steps:
        await history.happen(step)
    for answer in history.given.values():
        told = await room.house.retelling.replay_prompt(ANNA, answer)
        assert words_of(told.build_request()) == words_of(room.sent(answer))
    ids = [one.id for one in await room.messages(opened.discussion.id)]
    assert len(ids) == len(set(ids))
