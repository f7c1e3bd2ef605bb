"""From a discussion as it is set up now to the plan of a run, which nothing changes any more."""

from msgspec.structs import replace

from moot.engine.turns.token_estimates import ContextLimits
from moot.prompts.library import persona_prompt, project_prompt
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.debate import DebateOptions
from moot.types.discussions import Discussion
from moot.types.errors import NotFound, UsageError
from moot.types.modes import AdvisorOptions, DirectedOptions
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan


class RunPlanner:
    def __init__(self, personas: Personas, projects: Projects, context_limits: ContextLimits) -> None:
        self._personas = personas
        self._projects = projects
        self._context_limits = context_limits

    async def plan_run(
        self, tenant: str, discussion: Discussion, to: tuple[str, ...] | None = None
    ) -> RunPlan:
        """Look up what the participants are to know. What was deleted since is left out."""
        if to is not None:
            _check_addressees(discussion, to)
        participants = tuple(
            replace(who, model=discussion.model or who.model, persona=who.persona or discussion.persona)
            for who in discussion.participants
        )
        models = {who.model for who in participants} | ({discussion.clerk} if discussion.clerk else set())
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
            clerk=discussion.clerk,
            measures=await self._context_limits.limits_for_models(models, discussion.mode),
        )

    async def _persona_prompts(self, tenant: str, participants: tuple[Participant, ...]) -> dict[str, str]:
        """Find the prompt of the part that each participant plays, if it plays one."""
        parts = {who.id: who.persona for who in participants if who.persona is not None}
        prompts = {persona: await self._persona_prompt(tenant, persona) for persona in set(parts.values())}
        return {who: prompts[persona] for who, persona in parts.items() if prompts[persona]}

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
    strangers = [name for name in to if name not in known]
    if strangers or not to:
        raise UsageError(f"to: name some of {', '.join(known)}, or leave it out to speak to all.")
