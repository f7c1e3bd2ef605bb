from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import convert

from moot.engine.seating import Seating
from moot.model.advisors import Advisors
from moot.model.debates import Debate
from moot.model.directed import Directed
from moot.model.errors import NotFound, UsageError
from moot.model.line_ups import LineUp
from moot.model.personas import PersonaDraft
from moot.providers.registry import Registry
from moot.server.line_up_drafts import LineUpChange, LineUpDraft, changed, drafted
from moot.store.personas import Personas
from tests.store.people import ANNA, BERT, settled

BOTH = ["scripted/echo", "scripted/steady"]


class Desk:
    def __init__(self, personas: Personas, registry: Registry) -> None:
        self.personas = personas
        self.seating = Seating(registry, personas)

    async def made(self, **more: Any) -> LineUp:
        draft = convert({"name": "Two", "participants": BOTH, **more}, LineUpDraft)
        return await drafted(self.seating, ANNA, draft)

    async def change(self, now: LineUp, **change: Any) -> LineUp:
        return await changed(self.seating, ANNA, convert(change, LineUpChange), now)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with settled("sqlite", tmp_path) as database, Registry({}, {}) as registry:
        yield Desk(Personas(database, ()), registry)


async def test_little_is_needed_and_the_rest_is_as_in_a_discussion(desk: Desk) -> None:
    both, one = await desk.made(), await desk.made(participants=BOTH[:1])
    assert (both.mode, one.mode, both.rounds, both.clerk) == ("parallel", "single", 2, None)
    assert [who.name for who in both.participants] == ["Alpha", "Beta"]
    assert (both.debate, both.advisors, both.directed) == (None, None, None)
    assert both.id.startswith("line_up_")


async def test_the_rules_of_all_modes_are_kept(desk: Desk) -> None:
    full = await desk.made(
        mode="debate",
        clerk="scripted/clerk",
        debate={"lead": "Beta", "quorum": 2},
        advisors={"early": 1},
        directed={"trigger": "Alpha", "turns": 3},
    )
    assert full.debate == Debate(lead="beta", quorum=2)
    assert full.advisors == Advisors(early=1)
    assert full.directed == Directed(trigger="alpha", turns=3)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mode": "debate", "participants": BOTH[:1]}, "mode: debate takes at least two"),
        ({"participants": ["scripted/eco"]}, r"participants\[0\].model: "),
        ({"clerk": "nobody/x"}, "clerk: "),
        ({"debate": {"lead": "Gamma"}}, "debate.lead: nobody is called 'Gamma'"),
        ({"debate": {"quorum": 3}}, "debate.quorum: only 2"),
        ({"directed": {"trigger": "Gamma"}}, "directed.trigger: nobody is called 'Gamma'"),
    ],
)
async def test_what_no_discussion_could_be_opened_with_is_refused(
    desk: Desk, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UsageError, match=rf"^{words}"):
        await desk.made(**more)
    now = await desk.made(mode="consensus")
    with pytest.raises(UsageError, match=rf"^{words}"):
        await desk.change(now, **more)


@pytest.mark.parametrize(
    "body",
    [
        {"name": ""},
        {"name": "two\nlines"},
        {"name": "x" * 61},
        {"participants": []},
        {"rounds": 0},
        {"mode": "quarrel"},
        {"message": "Hello"},
        {"id": "line_up_1"},
    ],
)
def test_what_does_not_fit_is_refused(body: dict[str, Any]) -> None:
    for type_, rest in ((LineUpDraft, {"name": "Two", "participants": BOTH}), (LineUpChange, {})):
        with pytest.raises(msgspec.ValidationError):
            convert({**rest, **body}, type_)


async def test_only_what_was_sent_is_changed(desk: Desk) -> None:
    now = await desk.made(
        mode="debate", clerk="scripted/clerk", debate={"lead": "Beta"}, directed={"turns": 3}
    )
    assert await desk.change(now) == now
    renamed = await desk.change(now, name="Pair", rounds=4)
    assert renamed == msgspec.structs.replace(now, name="Pair", rounds=4)
    bare = await desk.change(now, clerk=None, debate=None, directed=None)
    assert (bare.clerk, bare.debate, bare.directed) == (None, None, None)


async def test_whoever_leaves_must_have_no_part_in_the_rules(desk: Desk) -> None:
    now = await desk.made(debate={"lead": "Beta", "quorum": 2})
    with pytest.raises(UsageError, match=r"^debate\.lead: nobody is called 'beta'"):
        await desk.change(now, participants=BOTH[:1])
    alone = await desk.change(now, participants=BOTH[:1], debate={"quorum": 1}, mode="single")
    assert (len(alone.participants), alone.debate) == (1, Debate(quorum=1))


async def test_a_persona_must_be_one_s_own_and_may_go_later(desk: Desk) -> None:
    cook = await desk.personas.create(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    foreign = await desk.personas.create(BERT, PersonaDraft(name="Spy", description="Spies."))
    seats = [{"model": "scripted/echo", "persona": cook.id}]
    now = await desk.made(participants=seats)
    assert now.participants[0].name == "Cook"
    with pytest.raises(NotFound, match=r"^participants\[0\]\.persona: "):
        await desk.made(participants=[{"model": "scripted/echo", "persona": foreign.id}])
    await desk.personas.delete(ANNA, cook.id)
    assert (await desk.change(now, name="Kitchen")).name == "Kitchen"
