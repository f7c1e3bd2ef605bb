import time

import pytest
from msgspec.structs import replace

from moot.store.database import Database
from moot.store.library.presets import Presets
from moot.types.errors import Conflict, NotFound
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import Participant, make_participants
from moot.types.presets import Preset
from moot.types.primitives import new_id
from tests.support.accounts import ANNA, BERT, create_accounts


@pytest.fixture
async def presets(database: Database) -> Presets:
    await create_accounts(database)
    return Presets(database)


async def add_sample_preset(presets: Presets, name: str = "Two", owner: str = ANNA) -> Preset:
    new = Preset(
        id=new_id("preset"),
        name=name,
        mode="debate",
        participants=(
            *make_participants(("scripted/echo",)),
            Participant("beta", "Beta", "scripted/steady", role="student"),
        ),
        rounds=3,
        task_model="scripted/task-model",
        debate=DebateOptions(lead="beta", quorum=2),
        advisors=AdvisorOptions(question_turns=0),
        directed=DirectedOptions(turns=4, first_speaker="alpha"),
        created_at=time.time(),
    )
    await presets.add_preset(owner, new)
    return new


async def test_preset_round_trips_through_update_and_delete(presets: Presets) -> None:
    two = await add_sample_preset(presets)
    assert await presets.get_preset(ANNA, two.id) == two
    after = replace(two, name="One", participants=two.participants[:1], debate=None, task_model=None)
    await presets.update_preset(ANNA, two, after)
    assert await presets.get_preset(ANNA, two.id) == after
    await presets.delete_preset(ANNA, two.id)
    with pytest.raises(NotFound, match=two.id):
        await presets.get_preset(ANNA, two.id)


async def test_presets_are_paged_newest_first(presets: Presets) -> None:
    made = sorted([(await add_sample_preset(presets, str(number))).id for number in range(3)], reverse=True)
    await add_sample_preset(presets, owner=BERT)
    first = await presets.list_presets(ANNA, limit=2)
    second = await presets.list_presets(ANNA, limit=2, cursor=first.next)
    assert [one.id for one in (*first.presets, *second.presets)] == made
    assert second.next is None


async def test_update_preset_rejects_stale_version(presets: Presets) -> None:
    two = await add_sample_preset(presets)
    await presets.update_preset(ANNA, two, replace(two, rounds=5))
    with pytest.raises(Conflict, match="Load it again"):
        await presets.update_preset(ANNA, two, replace(two, name="Mine"))
    assert await presets.get_preset(ANNA, two.id) == replace(two, rounds=5)


async def test_preset_belongs_to_its_tenant(presets: Presets) -> None:
    two = await add_sample_preset(presets)
    for forbidden in (
        presets.get_preset(BERT, two.id),
        presets.update_preset(BERT, two, replace(two, name="Mine")),
        presets.delete_preset(BERT, two.id),
    ):
        with pytest.raises(NotFound):
            await forbidden
    assert (await presets.list_presets(BERT)).presets == ()
    assert await presets.get_preset(ANNA, two.id) == two


async def test_find_preset_matches_name_or_id_of_own_tenant(presets: Presets) -> None:
    made = [await add_sample_preset(presets, "Twice") for _ in range(2)]
    assert await presets.find_preset(ANNA, "Twice") == max(made, key=lambda one: one.id)
    assert [await presets.find_preset(ANNA, one.id) for one in made] == made
    with pytest.raises(NotFound, match="Twice"):
        await presets.find_preset(BERT, "Twice")
