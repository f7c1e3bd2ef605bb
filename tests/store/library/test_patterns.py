import time

import pytest
from sqlalchemy import update

from moot.store.database import Database
from moot.store.library.patterns import ABANDONED_AFTER_SECONDS, Consolidations
from moot.store.library.projects import Projects
from moot.store.schema.library import consolidation
from moot.types.errors import NotFound
from moot.types.knowledge import ExtractedPattern
from moot.types.projects import Project, ProjectDraft
from tests.support.accounts import ANNA, BERT, create_accounts

PAIN_PATTERN = ExtractedPattern(
    kind="pain",
    title="It wobbles",
    description="Every table does.",
    evidence=("the first", "the second"),
    frequency=3,
    severity="high",
    tags=("legs", "floors"),
)
SUCCESS_PATTERN = ExtractedPattern(
    kind="success",
    title="Everyone sees everyone",
    description="Always.",
    evidence=("the first",),
    frequency=5,
    severity="low",
    tags=("rooms", "tables"),
)


@pytest.fixture
async def consolidations(database: Database) -> Consolidations:
    await create_accounts(database)
    return Consolidations(database)


@pytest.fixture
async def sample_project(consolidations: Consolidations, database: Database) -> Project:
    return await Projects(database).create_project(ANNA, ProjectDraft(name="Moot"))


async def test_patterns_are_sorted_by_frequency_and_only_pains_have_severity(
    consolidations: Consolidations, sample_project: Project
) -> None:
    started = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    assert started.status == "running"
    done = await consolidations.complete_consolidation(ANNA, started, "scripted/other", [PAIN_PATTERN, SUCCESS_PATTERN])
    assert (done.status, done.model) == ("completed", "scripted/other")
    assert [(one.title, one.severity) for one in done.patterns] == [
        ("Everyone sees everyone", None),
        ("It wobbles", "high"),
    ]
    assert done.patterns[1].evidence == ("the first", "the second")
    assert await consolidations.newest_completed_consolidation(ANNA, sample_project.id) == done
    assert await consolidations.newest_consolidation(ANNA, sample_project.id) == done


async def test_failed_or_running_consolidation_is_not_newest_completed(
    consolidations: Consolidations, sample_project: Project
) -> None:
    assert await consolidations.newest_consolidation(ANNA, sample_project.id) is None
    done = await consolidations.complete_consolidation(
        ANNA,
        await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo"),
        "scripted/echo",
        [PAIN_PATTERN],
    )
    await consolidations.fail_consolidation(
        ANNA, await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo"), "It broke."
    )
    newest = await consolidations.newest_consolidation(ANNA, sample_project.id)
    assert newest is not None
    assert (newest.status, newest.fault, newest.patterns) == ("failed", "It broke.", ())
    running = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    assert await consolidations.newest_consolidation(ANNA, sample_project.id) == running
    assert await consolidations.newest_completed_consolidation(ANNA, sample_project.id) == done


async def test_abandoned_consolidation_has_failed(
    consolidations: Consolidations, sample_project: Project, database: Database
) -> None:
    left = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    async with database.write() as connection:
        long_ago = time.time() - ABANDONED_AFTER_SECONDS - 1
        await connection.execute(update(consolidation).values(created_at=long_ago))
    found = await consolidations.newest_consolidation(ANNA, sample_project.id)
    assert found is not None
    assert (found.id, found.status) == (left.id, "failed")
    assert "Start it again" in (found.fault or "")


async def test_completed_consolidation_cannot_fail(consolidations: Consolidations, sample_project: Project) -> None:
    started = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    done = await consolidations.complete_consolidation(ANNA, started, "scripted/echo", [PAIN_PATTERN])
    with pytest.raises(NotFound):
        await consolidations.fail_consolidation(ANNA, started, "Whoever waited left.")
    assert await consolidations.newest_consolidation(ANNA, sample_project.id) == done


async def test_consolidations_belong_to_their_tenant(consolidations: Consolidations, sample_project: Project) -> None:
    started = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    with pytest.raises(NotFound):
        await consolidations.start_consolidation(BERT, sample_project.id, "scripted/echo")
    with pytest.raises(NotFound):
        await consolidations.complete_consolidation(BERT, started, "scripted/echo", [PAIN_PATTERN])
    with pytest.raises(NotFound):
        await consolidations.fail_consolidation(BERT, started, "No.")
    assert await consolidations.newest_consolidation(BERT, sample_project.id) is None
    assert await consolidations.newest_consolidation(ANNA, sample_project.id) == started


async def test_complete_consolidation_is_rejected_when_project_was_deleted(
    consolidations: Consolidations, sample_project: Project, database: Database
) -> None:
    started = await consolidations.start_consolidation(ANNA, sample_project.id, "scripted/echo")
    await Projects(database).delete_project(ANNA, sample_project.id)
    with pytest.raises(NotFound, match="deleted"):
        await consolidations.complete_consolidation(ANNA, started, "scripted/echo", [PAIN_PATTERN])
