import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import func, select

from moot.model.errors import Conflict, NotFound
from moot.model.personas import PersonaChange, PersonaDraft
from moot.model.trials import Acceptance, Trial
from moot.store.acceptances import Acceptances
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.personas import Personas
from moot.store.schema import persona as personas_table
from moot.store.trials import Trials
from tests.store.people import ANNA, BERT, discuss
from tests.store.running import OTHER, WORKER
from tests.store.test_trials import kept

NEW = PersonaDraft(name="Alpha", description="You name sources.")
MADE = Acceptance(
    persona="",
    field="description",
    before="",
    after="You name sources.",
    made=True,
    participant="alpha",
    replaced=None,
)


async def played(database: Database, trial: Trial) -> tuple[str, str | None]:
    """Say which discussion an answer is in, and what Alpha plays there."""
    message = await Discussions(database).find_message(ANNA, trial.message)
    now = await Discussions(database).get(ANNA, message.discussion)
    return now.id, now.participants[0].persona


async def count(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(personas_table))).scalar_one())


async def test_accepting_at_the_same_time_makes_one_persona(database: Database) -> None:
    trial = await kept(database, False)
    accepted = await asyncio.gather(
        *(Acceptances(database, WORKER).accept(ANNA, trial.id, MADE, NEW) for _ in range(3))
    )
    assert accepted[0] == accepted[1] == accepted[2]
    assert await count(database) == 1
    assert (await played(database, trial))[1] == accepted[0].acceptance.persona  # type: ignore[union-attr]


async def test_nothing_is_left_behind_where_it_cannot_be_accepted(database: Database) -> None:
    trial = await kept(database, False)
    with pytest.raises(Conflict, match="another part"):
        await Acceptances(database, WORKER).accept(ANNA, trial.id, replace(MADE, replaced="persona_0"), NEW)
    assert await count(database) == 0
    with pytest.raises(NotFound):
        await Acceptances(database, WORKER).accept(BERT, trial.id, MADE, NEW)


async def test_it_waits_for_whoever_improves_it(database: Database) -> None:
    trial = await kept(database, False)
    await Trials(database).hold(ANNA, trial.id, OTHER)
    with pytest.raises(Conflict, match="being improved"):
        await Acceptances(database, WORKER).accept(ANNA, trial.id, MADE, NEW)


async def test_a_persona_that_others_play_by_now_outlives_an_undo(database: Database) -> None:
    trial = await kept(database, False)
    acceptances = Acceptances(database, WORKER)
    done = (await acceptances.accept(ANNA, trial.id, MADE, NEW)).acceptance
    assert done is not None
    other = await discuss(database)
    await Discussions(database).change(ANNA, other.id, {"persona": done.persona})
    await acceptances.undo(ANNA, trial.id)
    assert (await played(database, trial))[1] is None
    assert await count(database) == 1


async def test_a_made_persona_that_was_changed_is_not_undone(database: Database) -> None:
    trial = await kept(database, False)
    acceptances = Acceptances(database, WORKER)
    done = (await acceptances.accept(ANNA, trial.id, MADE, NEW)).acceptance
    assert done is not None
    await Personas(database, ()).change(ANNA, done.persona, PersonaChange(description="You shout."))
    with pytest.raises(Conflict, match="stays as it is"):
        await acceptances.undo(ANNA, trial.id)
    assert (await played(database, trial))[1] == done.persona


async def test_anothers_persona_is_never_changed(database: Database) -> None:
    trial = await kept(database, False)
    theirs = await Personas(database, ()).create(BERT, PersonaDraft(name="Bo", description="You count."))
    wanted = replace(MADE, made=False, persona=theirs.id, before="You count.")
    with pytest.raises(Conflict, match="changed or deleted"):
        await Acceptances(database, WORKER).accept(ANNA, trial.id, wanted, None)
    assert await Personas(database, ()).get(BERT, theirs.id) == theirs


async def test_what_was_accepted_is_not_improved_any_more(database: Database) -> None:
    trial = await kept(database, False)
    await Acceptances(database, WORKER).accept(ANNA, trial.id, MADE, NEW)
    with pytest.raises(Conflict, match="accepted already"):
        await Trials(database).hold(ANNA, trial.id, WORKER)
    await Acceptances(database, WORKER).undo(ANNA, trial.id)
    await Trials(database).hold(ANNA, trial.id, WORKER)
