import pytest
from msgspec.structs import replace

from moot.prompts.library import persona_prompt, project_prompt
from moot.store.billing.usage import TokenRates
from moot.store.database import Database
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.discussions import Discussion
from moot.types.errors import UsageError
from moot.types.model_info import ModelLimits, TokenCount
from moot.types.participants import Participant
from moot.types.personas import Persona, PersonaDraft
from moot.types.projects import PostDraft, Project, ProjectDraft
from moot.types.run_plan import RunPlan
from tests.support.accounts import ANNA, BERT, create_accounts
from tests.support.stores import make_run_planner

ALPHA = Participant("alpha", "Alpha", "scripted/echo")
BETA = Participant("beta", "Beta", "scripted/steady", temperature=0.5)
SCEPTIC = Persona(
    id="shipped_sceptic",
    name="Sceptic",
    description="Doubts.",
    system_prompt="Doubt everything.",
    traits=(),
    specialisations=(),
    category="",
    colour="",
    uses=0,
    success_rate=None,
    level=1,
    builtin=True,
    created_at=0.0,
)


def make_discussion(
    *participants: Participant,
    persona: str | None = None,
    project: str | None = None,
    model: str | None = None,
) -> Discussion:
    return Discussion(
        id="dis_1",
        title="Tables",
        status="active",
        mode="consensus",
        participants=participants or (ALPHA, BETA),
        rounds=3,
        persona=persona,
        project=project,
        language="de",
        model=model,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=1.0,
        updated_at=1.0,
    )


def with_persona(participant: Participant, persona: str) -> Participant:
    return Participant(participant.id, participant.name, participant.model, persona)


class PlannerHarness:
    def __init__(self, database: Database) -> None:
        self.personas = Personas(database, [SCEPTIC])
        self.projects = Projects(database)
        self.rates = TokenRates(database)
        self._run_planner = make_run_planner(database, [SCEPTIC])

    async def plan_run(self, discussion: Discussion, to: tuple[str, ...] | None = None, tenant: str = ANNA) -> RunPlan:
        return await self._run_planner.plan_run(tenant, discussion, to)

    async def create_cook_persona(self) -> Persona:
        return await self.personas.create_persona(ANNA, PersonaDraft(name="Cook", description="Cooks."))

    async def create_sample_project(self) -> Project:
        return await self.projects.create_project(ANNA, ProjectDraft(name="Moot", description="A table."))


@pytest.fixture
async def harness(database: Database) -> PlannerHarness:
    await create_accounts(database)
    return PlannerHarness(database)


async def test_plan_copies_settings_of_discussion(harness: PlannerHarness) -> None:
    assert await harness.plan_run(make_discussion()) == RunPlan(
        mode="consensus", participants=(ALPHA, BETA), language="de", rounds=3
    )


async def test_plan_uses_persona_of_participant(harness: PlannerHarness) -> None:
    cook = await harness.create_cook_persona()
    plan = await harness.plan_run(make_discussion(with_persona(ALPHA, cook.id), BETA))
    assert plan.personas == {"alpha": persona_prompt(cook)}
    assert [who.persona for who in plan.participants] == [cook.id, None]


async def test_plan_falls_back_to_persona_of_discussion(harness: PlannerHarness) -> None:
    cook = await harness.create_cook_persona()
    plan = await harness.plan_run(make_discussion(with_persona(ALPHA, "shipped_sceptic"), BETA, persona=cook.id))
    assert plan.personas == {"alpha": "Doubt everything.", "beta": persona_prompt(cook)}
    assert [who.persona for who in plan.participants] == ["shipped_sceptic", cook.id]


async def test_participants_may_share_a_persona(harness: PlannerHarness) -> None:
    plan = await harness.plan_run(make_discussion(persona="shipped_sceptic"))
    assert plan.personas == {"alpha": "Doubt everything.", "beta": "Doubt everything."}


async def test_deleted_persona_is_left_out(harness: PlannerHarness) -> None:
    cook = await harness.create_cook_persona()
    await harness.personas.delete_persona(ANNA, cook.id)
    plan = await harness.plan_run(make_discussion(with_persona(ALPHA, cook.id), with_persona(BETA, "shipped_sceptic")))
    assert plan.personas == {"beta": "Doubt everything."}


async def test_persona_and_project_of_other_tenant_are_left_out(harness: PlannerHarness) -> None:
    cook, project = await harness.create_cook_persona(), await harness.create_sample_project()
    plan = await harness.plan_run(make_discussion(persona=cook.id, project=project.id), tenant=BERT)
    assert (plan.personas, plan.project) == ({}, "")


async def test_plan_describes_current_project(harness: PlannerHarness) -> None:
    project = await harness.create_sample_project()
    await harness.projects.add_post(ANNA, project.id, PostDraft(title="Round is the new square", published=True))
    plan = await harness.plan_run(make_discussion(project=project.id))
    assert plan.project == project_prompt(await harness.projects.project_facts(ANNA, project.id))
    assert "Round is the new square" in plan.project


async def test_deleted_project_is_left_out(harness: PlannerHarness) -> None:
    project = await harness.create_sample_project()
    await harness.projects.delete_project(ANNA, project.id)
    assert (await harness.plan_run(make_discussion(project=project.id))).project == ""


async def test_discussion_model_overrides_participant_models(harness: PlannerHarness) -> None:
    plan = await harness.plan_run(make_discussion(model="scripted/slow"))
    assert [who.model for who in plan.participants] == ["scripted/slow", "scripted/slow"]
    assert [(who.name, who.temperature) for who in plan.participants] == [("Alpha", None), ("Beta", 0.5)]


async def test_recipients_limit_who_speaks_but_not_participants(harness: PlannerHarness) -> None:
    plan = await harness.plan_run(make_discussion(), to=("beta",))
    assert plan.to == ("beta",)
    assert [who.id for who in plan.participants] == ["alpha", "beta"]
    assert [who.id for who in plan.responding_participants] == ["beta"]


@pytest.mark.parametrize("to", [("gamma",), ("beta", "gamma"), ("Beta",), ()])
async def test_unknown_recipient_is_rejected(harness: PlannerHarness, to: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"^to: unknown or missing participant\. Use alpha, beta, or omit it"):
        await harness.plan_run(make_discussion(), to=to)


async def test_plan_fixes_model_limits_at_creation(harness: PlannerHarness) -> None:
    await harness.rates.add_counts({BETA.model: TokenCount(200_000, 100_000)})
    before = await harness.plan_run(make_discussion())
    assert before.model_limits == {BETA.model: ModelLimits(characters_per_token=2.01)}
    await harness.rates.add_counts({BETA.model: TokenCount(400_000, 100_000)})
    assert before.limits_for_model(BETA.model).characters_per_token == 2.01
    assert (await harness.plan_run(make_discussion())).limits_for_model(BETA.model).characters_per_token > 2.9


async def test_plan_of_advisors_contains_context_limits(harness: PlannerHarness) -> None:
    small = Participant("gamma", "Gamma", "local/demo")
    plan = await harness.plan_run(replace(make_discussion(ALPHA, small), mode="advisors"))
    assert plan.limits_for_model("local/demo").context_tokens is not None
    assert plan.limits_for_model(ALPHA.model).context_tokens is None
