from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert
from msgspec.structs import replace

from moot.services.run_plans import DiscussionChange, DiscussionDraft, NewDiscussion, RunPlanner
from moot.types.errors import NotFound, UsageError
from moot.types.modes import DebateOptions
from moot.types.personas import PersonaDraft
from moot.types.projects import ProjectDraft
from tests.support.accounts import ANNA, create_discussion, database_with_accounts
from tests.support.stores import make_run_planner, make_stores


@pytest.fixture
async def planner(tmp_path: Path) -> AsyncIterator[RunPlanner]:
    async with database_with_accounts("sqlite", tmp_path) as database:
        yield make_run_planner(database)


async def check_draft(planner: RunPlanner, models: list[str], **more: Any) -> NewDiscussion:
    data = convert({"message": "What is a moot?", "participants": models, **more}, DiscussionDraft)
    return (await planner.check_draft(ANNA, data))[0]


async def test_default_mode_is_single_for_one_and_parallel_for_several(
    planner: RunPlanner,
) -> None:
    assert (await check_draft(planner, ["scripted/echo"])).mode == "single"
    assert (await check_draft(planner, ["scripted/echo", "scripted/echo"])).mode == "parallel"


async def test_debate_lead_is_resolved_by_name_or_id(planner: RunPlanner) -> None:
    both = ["scripted/echo", "scripted/steady"]
    for lead in ("Beta", "beta"):
        opened = await check_draft(planner, both, mode="debate", debate={"lead": lead, "quorum": 2})
        assert opened.debate == DebateOptions(lead="beta", quorum=2)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"mode": "debate"}, "mode: debate takes at least two"),
        ({"mode": "consensus"}, "mode: consensus takes at least two"),
        ({"language": "xx"}, "language: 'xx'"),
        ({"model": "scripted/eco"}, "model: .*'echo'"),
        ({"task_model": "nobody/x"}, "task_model: "),
        ({"debate": {"lead": "Beta"}}, "debate.lead: there is no participant 'Beta'"),
        ({"debate": {"quorum": 2}}, "debate.quorum: only 1"),
        ({"message": "  "}, "message: it is empty"),
        ({"title": " "}, "title: it is empty"),
    ],
)
async def test_invalid_draft_is_rejected_by_field(planner: RunPlanner, more: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=rf"^{words}"):
        await check_draft(planner, ["scripted/echo"], **more)


@pytest.mark.parametrize("field", ["persona", "project"])
async def test_unknown_persona_or_project_is_not_found_by_field(planner: RunPlanner, field: str) -> None:
    with pytest.raises(NotFound, match=rf"^{field}: "):
        await check_draft(planner, ["scripted/echo"], **{field: "none"})


async def test_check_change_returns_only_sent_fields(planner: RunPlanner, tmp_path: Path) -> None:
    async with database_with_accounts("sqlite", tmp_path / "other") as database:
        now = await create_discussion(database)
        nothing = await planner.check_change(ANNA, DiscussionChange(), now)
        some = await planner.check_change(ANNA, convert({"title": " New ", "model": None}, DiscussionChange), now)
        assert (nothing, some) == ({}, {"title": "New", "model": None})
        rules = convert({"debate": {"lead": now.participants[0].name}}, DiscussionChange)
        assert await planner.check_change(ANNA, rules, now) == {"debate": DebateOptions(lead=now.participants[0].id)}
        with pytest.raises(UsageError, match="mode: debate takes"):
            await planner.check_change(ANNA, DiscussionChange(mode="debate"), now)


async def test_prompts_of_checked_draft_are_those_of_the_plan(tmp_path: Path) -> None:
    async with database_with_accounts("sqlite", tmp_path) as database:
        planner, stores = make_run_planner(database), make_stores(database)
        cook, baker = [
            (await stores.personas.create_persona(ANNA, PersonaDraft(name=name, description="Makes food."))).id
            for name in ("Cook", "Baker")
        ]
        project = await stores.projects.create_project(ANNA, ProjectDraft(name="Moot", description="A table."))
        body = {"message": "Hi", "participants": ["scripted/echo", {"model": "scripted/echo", "persona": baker}]}
        draft = convert(body | {"persona": cook, "project": project.id}, DiscussionDraft)
        new, prompts = await planner.check_draft(ANNA, draft)
        settings = {"participants": new.participants, "persona": cook, "project": project.id}
        discussion = replace(await create_discussion(database), **settings)
        plan = await planner.plan_run(ANNA, discussion, prompts=prompts)
        assert plan == await planner.plan_run(ANNA, discussion)
        assert plan.personas.keys() == {"alpha", "baker"}
        assert "A table." in plan.project
