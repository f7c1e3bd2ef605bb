import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import delete

from moot.model.errors import Conflict, NotFound
from moot.model.trials import Trial
from moot.store.appending import Entry, Kept
from moot.store.database import Database
from moot.store.events import Events
from moot.store.schema import message as messages
from moot.store.trials import Trials
from tests.model.test_trials import attempt, trial
from tests.store.people import ANNA, BERT
from tests.store.running import OTHER, WORKER, answer, first_run


async def kept(database: Database, *passed: bool) -> Trial:
    """Keep a trial of an answer."""
    claim = await first_run(database)
    said = answer(claim)
    await Events(database).write([Entry(claim, 1, [], Kept([said]))])
    new = replace(trial(*passed), message=said.id)
    await Trials(database).add(ANNA, new)
    return new


async def test_a_trial_is_read_as_it_was_kept(database: Database) -> None:
    new = await kept(database, True, False)
    trials = Trials(database)
    assert await trials.get(ANNA, new.id) == new
    newer = replace(new, id="trial_2")
    await trials.add(ANNA, newer)
    assert await trials.of_message(ANNA, new.message) == (newer, new)


async def test_anothers_is_not_there(database: Database) -> None:
    new = await kept(database, True)
    trials = Trials(database)
    for doing in (
        trials.get(BERT, new.id),
        trials.hold(BERT, new.id, WORKER),
        trials.keep(BERT, new.id, WORKER, attempt(True)),
    ):
        with pytest.raises(NotFound):
            await doing
    assert await trials.of_message(BERT, new.message) == ()


async def test_a_round_is_there_at_once_and_better_only_if_it_is(database: Database) -> None:
    new = await kept(database, True, False)
    trials = Trials(database)
    await trials.hold(ANNA, new.id, WORKER)
    await trials.keep(ANNA, new.id, WORKER, attempt(False, True))
    now = await trials.keep(ANNA, new.id, WORKER, attempt(True, True))
    assert [one.better for one in now.rounds] == [False, True]
    assert await trials.get(ANNA, new.id) == now


async def test_one_holds_it_at_a_time(database: Database) -> None:
    new = await kept(database, False)
    trials = Trials(database)
    await trials.hold(ANNA, new.id, WORKER)
    await trials.hold(ANNA, new.id, WORKER)  # after it was started anew
    with pytest.raises(Conflict, match="being improved already"):
        await trials.hold(ANNA, new.id, OTHER)
    with pytest.raises(Conflict, match="being improved already"):
        await trials.keep(ANNA, new.id, OTHER, attempt(True))
    await trials.let_go(ANNA, new.id, OTHER)
    with pytest.raises(Conflict, match="being improved already"):
        await trials.hold(ANNA, new.id, OTHER)
    await trials.let_go(ANNA, new.id, WORKER)
    assert await trials.hold(ANNA, new.id, OTHER) == new


async def test_of_many_who_want_to_hold_it_one_does(database: Database) -> None:
    new = await kept(database, False)
    came = await asyncio.gather(
        *(Trials(database).hold(ANNA, new.id, who) for who in (WORKER, OTHER)), return_exceptions=True
    )
    assert sorted(isinstance(one, Trial) for one in came) == [False, True]


async def test_it_goes_with_its_answer(database: Database) -> None:
    new = await kept(database, False)
    await Trials(database).hold(ANNA, new.id, WORKER)
    async with database.write() as connection:
        await connection.execute(delete(messages).where(messages.c.id == new.message))
    with pytest.raises(NotFound):
        await Trials(database).get(ANNA, new.id)
    await Trials(database).let_go(ANNA, new.id, WORKER)  # which is no mistake
