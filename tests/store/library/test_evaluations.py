import asyncio

import pytest
from msgspec.structs import replace
from sqlalchemy import delete, func, select

from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import AppliedImprovements, Evaluations
from moot.store.library.personas import Personas
from moot.store.runs.event_log import EventLog, EventLogEntry, RunRecords
from moot.store.schema.discussions import message as messages
from moot.store.schema.library import persona as personas_table
from moot.types.errors import Conflict, NotFound
from moot.types.evaluations import AppliedImprovement, Evaluation
from moot.types.personas import PersonaChange, PersonaDraft
from tests.support.accounts import ANNA, BERT, create_discussion
from tests.support.runs import OTHER_WORKER, WORKER, make_answer, prepare_leased_run
from tests.types.test_evaluations import make_evaluation, make_round


async def add_evaluation_of_answer(database: Database, *verdicts: bool) -> Evaluation:
    """Store an answer and an evaluation of it."""
    claim = await prepare_leased_run(database)
    answer = make_answer(claim)
    await EventLog(database).write_entries([EventLogEntry(claim, 1, [], RunRecords([answer]))])
    new = replace(make_evaluation(*verdicts), message=answer.id)
    await Evaluations(database).add_evaluation(ANNA, new)
    return new


async def test_evaluation_round_trips_and_lists_newest_first(database: Database) -> None:
    new = await add_evaluation_of_answer(database, True, False)
    evaluations = Evaluations(database)
    assert await evaluations.get_evaluation(ANNA, new.id) == new
    newer = replace(new, id="trial_2")
    await evaluations.add_evaluation(ANNA, newer)
    assert await evaluations.list_evaluations(ANNA, new.message) == (newer, new)


async def test_other_tenant_cannot_access_evaluation(database: Database) -> None:
    new = await add_evaluation_of_answer(database, True)
    evaluations = Evaluations(database)
    for doing in (
        evaluations.get_evaluation(BERT, new.id),
        evaluations.acquire_evaluation(BERT, new.id, WORKER),
        evaluations.add_round(BERT, new.id, WORKER, make_round(True)),
    ):
        with pytest.raises(NotFound):
            await doing
    assert await evaluations.list_evaluations(BERT, new.message) == ()


async def test_add_round_stores_it_and_marks_only_better_rounds(database: Database) -> None:
    new = await add_evaluation_of_answer(database, True, False)
    evaluations = Evaluations(database)
    await evaluations.acquire_evaluation(ANNA, new.id, WORKER)
    await evaluations.add_round(ANNA, new.id, WORKER, make_round(False, True))
    now = await evaluations.add_round(ANNA, new.id, WORKER, make_round(True, True))
    assert [one.is_better for one in now.rounds] == [False, True]
    assert await evaluations.get_evaluation(ANNA, new.id) == now


async def test_acquire_evaluation_allows_one_worker_at_a_time(database: Database) -> None:
    new = await add_evaluation_of_answer(database, False)
    evaluations = Evaluations(database)
    await evaluations.acquire_evaluation(ANNA, new.id, WORKER)
    await evaluations.acquire_evaluation(ANNA, new.id, WORKER)  # after its worker restarted
    with pytest.raises(Conflict, match="being improved already"):
        await evaluations.acquire_evaluation(ANNA, new.id, OTHER_WORKER)
    with pytest.raises(Conflict, match="being improved already"):
        await evaluations.add_round(ANNA, new.id, OTHER_WORKER, make_round(True))
    await evaluations.release_evaluation(ANNA, new.id, OTHER_WORKER)
    with pytest.raises(Conflict, match="being improved already"):
        await evaluations.acquire_evaluation(ANNA, new.id, OTHER_WORKER)
    await evaluations.release_evaluation(ANNA, new.id, WORKER)
    assert await evaluations.acquire_evaluation(ANNA, new.id, OTHER_WORKER) == new


async def test_concurrent_acquire_evaluation_succeeds_once(database: Database) -> None:
    new = await add_evaluation_of_answer(database, False)
    results = await asyncio.gather(
        *(Evaluations(database).acquire_evaluation(ANNA, new.id, who) for who in (WORKER, OTHER_WORKER)),
        return_exceptions=True,
    )
    assert sorted(isinstance(one, Evaluation) for one in results) == [False, True]


async def test_evaluation_is_deleted_with_its_message(database: Database) -> None:
    new = await add_evaluation_of_answer(database, False)
    await Evaluations(database).acquire_evaluation(ANNA, new.id, WORKER)
    async with database.write() as connection:
        await connection.execute(delete(messages).where(messages.c.id == new.message))
    with pytest.raises(NotFound):
        await Evaluations(database).get_evaluation(ANNA, new.id)
    await Evaluations(database).release_evaluation(ANNA, new.id, WORKER)  # which is no error


NEW_PERSONA = PersonaDraft(name="Alpha", description="You name sources.")
APPLIED_WITH_NEW_PERSONA = AppliedImprovement(
    persona="",
    field="description",
    before="",
    after="You name sources.",
    is_new_persona=True,
    participant="alpha",
    previous_persona=None,
)


async def discussion_and_persona(database: Database, evaluation: Evaluation) -> tuple[str, str | None]:
    """Return the discussion of the evaluated answer and the persona of Alpha in it."""
    message = await Discussions(database).find_message(ANNA, evaluation.message)
    now = await Discussions(database).get_discussion(ANNA, message.discussion)
    return now.id, now.participants[0].persona


async def count_personas(database: Database) -> int:
    async with database.read() as connection:
        return int((await connection.execute(select(func.count()).select_from(personas_table))).scalar_one())


async def test_concurrent_apply_improvement_creates_one_persona(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    accepted = await asyncio.gather(
        *(
            AppliedImprovements(database, WORKER).apply_improvement(
                ANNA, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA
            )
            for _ in range(3)
        )
    )
    assert accepted[0] == accepted[1] == accepted[2]
    assert await count_personas(database) == 1
    assert (await discussion_and_persona(database, evaluation))[1] == accepted[0].applied_improvement.persona  # type: ignore[union-attr]


async def test_rejected_apply_improvement_stores_nothing(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    with pytest.raises(Conflict, match="another persona"):
        await AppliedImprovements(database, WORKER).apply_improvement(
            ANNA, evaluation.id, replace(APPLIED_WITH_NEW_PERSONA, previous_persona="persona_0"), NEW_PERSONA
        )
    assert await count_personas(database) == 0
    with pytest.raises(NotFound):
        await AppliedImprovements(database, WORKER).apply_improvement(
            BERT, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA
        )


async def test_apply_improvement_is_rejected_while_being_improved(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    await Evaluations(database).acquire_evaluation(ANNA, evaluation.id, OTHER_WORKER)
    with pytest.raises(Conflict, match="being improved"):
        await AppliedImprovements(database, WORKER).apply_improvement(
            ANNA, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA
        )


async def test_undo_improvement_keeps_persona_used_elsewhere(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    acceptances = AppliedImprovements(database, WORKER)
    done = (
        await acceptances.apply_improvement(ANNA, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA)
    ).applied_improvement
    assert done is not None
    other = await create_discussion(database)
    await Discussions(database).update_discussion(ANNA, other.id, {"persona": done.persona})
    await acceptances.undo_improvement(ANNA, evaluation.id)
    assert (await discussion_and_persona(database, evaluation))[1] is None
    assert await count_personas(database) == 1


async def test_undo_improvement_is_rejected_when_new_persona_was_changed(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    acceptances = AppliedImprovements(database, WORKER)
    done = (
        await acceptances.apply_improvement(ANNA, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA)
    ).applied_improvement
    assert done is not None
    await Personas(database, ()).update_persona(ANNA, done.persona, PersonaChange(description="You shout."))
    with pytest.raises(Conflict, match="stays as it is"):
        await acceptances.undo_improvement(ANNA, evaluation.id)
    assert (await discussion_and_persona(database, evaluation))[1] == done.persona


async def test_apply_improvement_rejects_persona_of_other_tenant(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    foreign = await Personas(database, ()).create_persona(BERT, PersonaDraft(name="Bo", description="You count."))
    improvement = replace(APPLIED_WITH_NEW_PERSONA, is_new_persona=False, persona=foreign.id, before="You count.")
    with pytest.raises(Conflict, match="changed or deleted"):
        await AppliedImprovements(database, WORKER).apply_improvement(ANNA, evaluation.id, improvement, None)
    assert await Personas(database, ()).get_persona(BERT, foreign.id) == foreign


async def test_acquire_evaluation_is_rejected_while_improvement_is_applied(database: Database) -> None:
    evaluation = await add_evaluation_of_answer(database, False)
    await AppliedImprovements(database, WORKER).apply_improvement(
        ANNA, evaluation.id, APPLIED_WITH_NEW_PERSONA, NEW_PERSONA
    )
    with pytest.raises(Conflict, match="applied already"):
        await Evaluations(database).acquire_evaluation(ANNA, evaluation.id, WORKER)
    await AppliedImprovements(database, WORKER).undo_improvement(ANNA, evaluation.id)
    await Evaluations(database).acquire_evaluation(ANNA, evaluation.id, WORKER)
