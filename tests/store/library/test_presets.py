import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.library.presets import Presets
from moot.types.debate import Debate
from moot.types.errors import Conflict, NotFound
from moot.types.modes import Advisors, Directed
from moot.types.participants import Participant, make_participants
from moot.types.presets import LineUp
from moot.types.primitives import new_id
from tests.store.people import ANNA, BERT, settle


@pytest.fixture
async def line_ups(database: Database) -> Presets:
    await settle(database)
    return Presets(database)


async def kept(line_ups: Presets, name: str = "Two", owner: str = ANNA) -> LineUp:
    new = LineUp(
        id=new_id("line_up"),
        name=name,
        mode="debate",
        participants=(
            *make_participants(("scripted/echo",)),
            Participant("beta", "Beta", "scripted/steady", role="student"),
        ),
        rounds=3,
        clerk="scripted/clerk",
        debate=Debate(lead="beta", quorum=2),
        advisors=Advisors(early=0),
        directed=Directed(turns=4, trigger="alpha"),
        created_at=time.time(),
    )
    await line_ups.add_preset(owner, new)
    return new


async def test_a_line_up_is_kept_as_it_is_changed_and_deleted(line_ups: Presets) -> None:
    two = await kept(line_ups)
    assert await line_ups.get_preset(ANNA, two.id) == two
    after = replace(two, name="One", participants=two.participants[:1], debate=None, clerk=None)
    await line_ups.update_preset(ANNA, two, after)
    assert await line_ups.get_preset(ANNA, two.id) == after
    await line_ups.delete_preset(ANNA, two.id)
    with pytest.raises(NotFound, match=two.id):
        await line_ups.get_preset(ANNA, two.id)


async def test_line_ups_come_newest_first_and_a_page_at_a_time(line_ups: Presets) -> None:
    made = sorted([(await kept(line_ups, str(number))).id for number in range(3)], reverse=True)
    await kept(line_ups, owner=BERT)
    first = await line_ups.list_presets(ANNA, limit=2)
    second = await line_ups.list_presets(ANNA, limit=2, cursor=first.next)
    assert [one.id for one in (*first.line_ups, *second.line_ups)] == made
    assert second.next is None


async def test_what_was_changed_meanwhile_is_not_changed_over_it(line_ups: Presets) -> None:
    two = await kept(line_ups)
    await line_ups.update_preset(ANNA, two, replace(two, rounds=5))
    with pytest.raises(Conflict, match="load it again"):
        await line_ups.update_preset(ANNA, two, replace(two, name="Mine"))
    assert await line_ups.get_preset(ANNA, two.id) == replace(two, rounds=5)


async def test_a_line_up_is_its_tenants(line_ups: Presets) -> None:
    two = await kept(line_ups)
    for forbidden in (
        line_ups.get_preset(BERT, two.id),
        line_ups.update_preset(BERT, two, replace(two, name="Mine")),
        line_ups.delete_preset(BERT, two.id),
    ):
        with pytest.raises(NotFound):
            await forbidden
    assert (await line_ups.list_presets(BERT)).line_ups == ()
    assert await line_ups.get_preset(ANNA, two.id) == two


async def test_a_line_up_is_found_by_its_name_or_its_id_and_by_its_tenant_alone(line_ups: Presets) -> None:
    made = [await kept(line_ups, "Twice") for _ in range(2)]
    assert await line_ups.find_preset(ANNA, "Twice") == max(made, key=lambda one: one.id)
    assert [await line_ups.find_preset(ANNA, one.id) for one in made] == made
    with pytest.raises(NotFound, match="Twice"):
        await line_ups.find_preset(BERT, "Twice")
