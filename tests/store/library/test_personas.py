import asyncio

import pytest
from sqlalchemy import select

from moot.store.database import Database
from moot.store.library.personas import Personas
from moot.store.schema.library import persona_usage
from moot.types.errors import Forbidden, NotFound, UsageError
from moot.types.personas import Persona, PersonaChange, PersonaDraft
from tests.support.accounts import ANNA, BERT, create_accounts

SCEPTIC = Persona(
    id="shipped_sceptic",
    name="Sceptic",
    description="Doubts.",
    system_prompt="Doubt.",
    traits=("doubtful",),
    specialisations=(),
    category="thinking",
    colour="#112233",
    uses=0,
    success_rate=None,
    level=1,
    builtin=True,
    created_at=0.0,
)


@pytest.fixture
async def personas(database: Database) -> Personas:
    await create_accounts(database)
    return Personas(database, [SCEPTIC])


async def test_created_persona_round_trips(personas: Personas) -> None:
    draft = PersonaDraft(name="Cook", description="Cooks.", traits=("warm", "quick"), colour="#ffffff")
    made = await personas.create_persona(ANNA, draft)
    assert made.id.startswith("persona_")
    assert (made.name, made.description, made.traits, made.colour) == (
        "Cook",
        "Cooks.",
        ("warm", "quick"),
        "#ffffff",
    )
    assert (made.uses, made.success_rate, made.level, made.builtin) == (0, None, 1, False)
    assert await personas.get_persona(ANNA, made.id) == made


async def test_shipped_personas_are_shared_and_own_personas_are_private(personas: Personas) -> None:
    made = await personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    assert await personas.get_persona(BERT, "shipped_sceptic") == SCEPTIC
    assert [one.id for one in (await personas.list_personas(BERT)).personas] == ["shipped_sceptic"]
    assert [one.id for one in (await personas.list_personas(ANNA)).personas] == ["shipped_sceptic", made.id]
    for forbidden in (
        personas.get_persona(BERT, made.id),
        personas.update_persona(BERT, made.id, PersonaChange(name="Mine")),
        personas.delete_persona(BERT, made.id),
    ):
        with pytest.raises(NotFound, match=made.id):
            await forbidden
    assert await personas.get_persona(ANNA, made.id) == made


async def test_pages_list_every_persona_once(personas: Personas) -> None:
    for number in range(4):
        await personas.create_persona(ANNA, PersonaDraft(name=f"Cook {number}", description="Cooks."))
    seen: list[str] = []
    cursor: str | None = None
    sizes = []
    while True:
        page = await personas.list_personas(ANNA, cursor=cursor, limit=2)
        seen += [one.id for one in page.personas]
        sizes.append(len(page.personas))
        cursor = page.next
        if cursor is None:
            break
    assert sizes == [2, 2, 1]
    assert seen == sorted(set(seen), reverse=True)


async def test_update_persona_keeps_other_fields(personas: Personas) -> None:
    made = await personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks.", traits=("warm",)))
    changed = await personas.update_persona(ANNA, made.id, PersonaChange(name="Chef", traits=()))
    assert (changed.name, changed.traits, changed.description) == ("Chef", (), "Cooks.")
    assert await personas.update_persona(ANNA, made.id, PersonaChange()) == changed


async def test_update_persona_rejects_empty_persona(personas: Personas) -> None:
    made = await personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    with pytest.raises(UsageError, match="Keep one"):
        await personas.update_persona(ANNA, made.id, PersonaChange(description=" "))
    assert await personas.get_persona(ANNA, made.id) == made


async def test_shipped_personas_are_read_only(personas: Personas) -> None:
    with pytest.raises(Forbidden, match="Create a copy"):
        await personas.update_persona(ANNA, "shipped_sceptic", PersonaChange(name="Believer"))
    with pytest.raises(Forbidden, match="Create a copy"):
        await personas.delete_persona(ANNA, "shipped_sceptic")


async def test_count_use_counts_per_tenant(personas: Personas) -> None:
    made = await personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    for completed in (True, True, False, True):
        await personas.count_use(ANNA, made.id, completed=completed)
        await personas.count_use(ANNA, "shipped_sceptic", completed=False)
    cook = await personas.get_persona(ANNA, made.id)
    assert (cook.uses, cook.success_rate, cook.level) == (4, 0.75, 1)
    shipped, own = (await personas.list_personas(ANNA)).personas
    assert (shipped.uses, shipped.success_rate) == (4, 0.0)
    assert own == cook
    assert await personas.get_persona(BERT, "shipped_sceptic") == SCEPTIC


async def test_concurrent_uses_are_all_counted(personas: Personas) -> None:
    await asyncio.gather(*(personas.count_use(ANNA, "shipped_sceptic", completed=True) for _ in range(20)))
    sceptic = await personas.get_persona(ANNA, "shipped_sceptic")
    assert (sceptic.uses, sceptic.level) == (20, 3)


async def test_delete_persona_removes_its_use_counts(personas: Personas, database: Database) -> None:
    made = await personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))
    await personas.count_use(ANNA, made.id, completed=True)
    await personas.delete_persona(ANNA, made.id)
    with pytest.raises(NotFound):
        await personas.get_persona(ANNA, made.id)
    async with database.read() as connection:
        assert (await connection.execute(select(persona_usage))).all() == []
    with pytest.raises(NotFound):
        await personas.delete_persona(ANNA, made.id)


async def test_persona_names_lists_own_and_shipped_personas(personas: Personas) -> None:
    for owner, name in ((ANNA, "Cook"), (ANNA, "Smith"), (BERT, "Baker")):
        await personas.create_persona(owner, PersonaDraft(name=name, description="Works."))
    assert await personas.persona_names(ANNA) == ["Smith", "Cook", "Sceptic"]
