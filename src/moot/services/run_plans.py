"""Run planner: builds the immutable plan of a run from the current settings of its discussion."""

from msgspec.structs import replace

from moot.engine.turns.token_estimates import ContextLimits
from moot.prompts.library import persona_prompt, project_prompt
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan


class RunPlanner:
    def __init__(self, personas: Personas, projects: Projects, context_limits: ContextLimits) -> None:
        self._personas = personas
        self._projects = projects
        self._context_limits = context_limits

    async def plan_run(self, tenant: str, discussion: Discussion, to: tuple[str, ...] | None = None) -> RunPlan:
        """Deleted personas and projects are skipped. Raises UsageError if `to` has an unknown id or is empty."""
        if to is not None:
            _check_addressees(discussion, to)
        participants = tuple(
            replace(who, model=discussion.model or who.model, persona=who.persona or discussion.persona)
            for who in discussion.participants
        )
        models = {who.model for who in participants} | ({discussion.task_model} if discussion.task_model else set())
        return RunPlan(
            mode=discussion.mode,
            participants=participants,
            personas=await self._persona_prompts(tenant, participants),
            project=await self._project_description(tenant, discussion.project),
            language=discussion.language,
            rounds=discussion.rounds,
            to=to,
            debate=discussion.debate or DebateOptions(),
            advisors=discussion.advisors or AdvisorOptions(),
            directed=discussion.directed or DirectedOptions(),
            task_model=discussion.task_model,
            model_limits=await self._context_limits.limits_for_models(models, discussion.mode),
        )

    async def _persona_prompts(self, tenant: str, participants: tuple[Participant, ...]) -> dict[str, str]:
        personas = {who.id: who.persona for who in participants if who.persona is not None}
        prompts = {id: await self._persona_prompt(tenant, id) for id in set(personas.values())}
        return {participant: prompts[id] for participant, id in personas.items() if prompts[id]}

    async def _persona_prompt(self, tenant: str, persona: str) -> str:
        try:
            return persona_prompt(await self._personas.get_persona(tenant, persona))
        except NotFound:
            return ""

    async def _project_description(self, tenant: str, project: str | None) -> str:
        if project is None:
            return ""
        try:
            return project_prompt(await self._projects.project_facts(tenant, project))
        except NotFound:
            return ""


def _check_addressees(discussion: Discussion, to: tuple[str, ...]) -> None:
    known = [who.id for who in discussion.participants]
    unknown = [id for id in to if id not in known]
    if unknown or not to:
        raise UsageError(f"to: unknown or missing participant. Use {', '.join(known)}, or omit it to address all.")
