"""Run planner: checks drafts of discussions, gives participants their names, and freezes the plan of a run."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import count
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict, replace

from moot.engine.tools.catalog import ToolCatalog
from moot.engine.turns.token_estimates import ContextLimits
from moot.prompts.language import is_known_language
from moot.prompts.library import persona_prompt, project_prompt
from moot.providers.registry import Registry
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.types.billing import MaxCostUsd
from moot.types.discussions import Discussion, DiscussionStatus
from moot.types.errors import NotFound, UsageError, prefix_not_found
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions, ModeName, Rounds, check_mode, default_mode
from moot.types.participants import LessonRole, Participant, default_names, first_free_name, participant_id
from moot.types.personas import Colour, Persona
from moot.types.primitives import ModelName, Name
from moot.types.requests import Effort
from moot.types.run_plan import RunPlan
from moot.types.tools import ToolName

Id = Annotated[str, Meta(min_length=1, max_length=60)]
MessageText = Annotated[str, Meta(min_length=1, max_length=10_000)]
Title = Annotated[str, Meta(min_length=1, max_length=200)]
Language = Annotated[str, Meta(min_length=2, max_length=8)]
FileIds = Annotated[tuple[Id, ...], Meta(max_length=10)]


class ParticipantInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request for a participant: a model, and optionally a persona, a name and model options."""

    # Ignored, because the id is derived from the name. Accepted, so that clients can send back a response.
    id: Annotated[str, Meta(max_length=60)] | None = None
    model: ModelName
    persona: Annotated[str, Meta(max_length=60)] | None = None  # id
    name: Name | None = None  # None: the name of the persona, or a default name
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    max_tokens: Annotated[int, Meta(ge=1, le=1_000_000)] | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None  # in directed mode
    priority: Annotated[int, Meta(ge=-100, le=100)] = 0  # in directed mode; higher values speak first
    active: bool = True  # in advisors mode: whether the participant answers
    colour: Colour | None = None
    avatar: Annotated[str, Meta(max_length=200)] | None = None
    tools: Annotated[tuple[ToolName, ...], Meta(max_length=32)] = ()


ParticipantList = Annotated[list[ModelName | ParticipantInput], Meta(min_length=1, max_length=24)]


class DiscussionDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request body that creates a discussion with its first message."""

    message: MessageText
    participants: ParticipantList  # models, or objects with a model, persona, name and settings
    title: Title | None = None
    mode: ModeName | None = None  # default: `single` for one participant, `parallel` for several
    rounds: Rounds = 2
    persona: Id | None = None
    project: Id | None = None
    language: Language | None = None
    model: ModelName | None = None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    task_model: ModelName | None = None  # cheap task model for the title and the debate report
    files: FileIds = ()  # attached to the message
    max_cost_usd: MaxCostUsd | None = None  # US dollars for this run


class DiscussionChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Request body that changes a discussion. Omitted fields keep their value; null clears an optional field."""

    title: Title | UnsetType = UNSET
    status: DiscussionStatus | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    participants: ParticipantList | UnsetType = UNSET  # replaces all participants
    rounds: Rounds | UnsetType = UNSET  # consensus mode only
    persona: Id | UnsetType | None = UNSET  # default for participants without a persona
    project: Id | UnsetType | None = UNSET
    language: Language | UnsetType = UNSET  # code such as en
    model: ModelName | UnsetType | None = UNSET  # replaces the model of every participant
    debate: DebateOptions | UnsetType | None = UNSET  # each options object is for the mode of the same name
    advisors: AdvisorOptions | UnsetType | None = UNSET
    directed: DirectedOptions | UnsetType | None = UNSET
    task_model: ModelName | UnsetType | None = UNSET  # cheap model for titles and analysis tasks


class NewDiscussion(Struct, frozen=True, kw_only=True):
    """Validated request to create a discussion with its first message."""

    message: str
    participants: tuple[Participant, ...]
    mode: str
    rounds: int  # in consensus mode
    title: str | None = None  # None: generated by the task model
    persona: str | None = None  # default for participants without a persona
    project: str | None = None
    language: str | None = None  # None: detected from the message
    model: str | None = None  # replaces the model of every participant
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None
    task_model: str | None = None  # task model; None: the default one
    files: tuple[str, ...] = ()  # ids
    responders: tuple[str, ...] | None = None  # ids of responders to this message, in order; None: by mode
    max_cost_usd: float | None = None  # maximum cost of the first run in US dollars
    channel: str | None = None  # id of the Discord channel that the message comes from
    author: str | None = None  # name of the author in that channel


class LibraryPrompts(Struct, frozen=True):
    """Prompts of the personas and of the project that a discussion refers to."""

    personas: dict[str, str]  # by id of the persona
    project: str  # empty without a project


class RunPlanner:
    def __init__(
        self,
        registry: Registry,
        personas: Personas,
        projects: Projects,
        context_limits: ContextLimits,
        tool_catalog: ToolCatalog | None = None,  # None: tools are not checked
    ) -> None:
        self._registry = registry
        self._personas = personas
        self._projects = projects
        self._context_limits = context_limits
        self._tool_catalog = tool_catalog

    async def check_draft(self, tenant: str, draft: DiscussionDraft) -> tuple[NewDiscussion, LibraryPrompts]:
        """Raises UsageError or NotFound with the name of the invalid field. The prompts are for `plan_run`."""
        personas: dict[str, Persona] = {}
        project = await self._check_references(tenant, draft, personas)
        mode = draft.mode or default_mode(draft.participants)
        check_mode(mode, draft.participants)
        participants = await self.assign_participants(tenant, draft.participants, personas)
        fields = {name: getattr(draft, name) for name in DiscussionDraft.__struct_fields__} | {
            "message": require_text(draft.message),
            "title": require_text(draft.title, "title").strip() if draft.title is not None else None,
            "mode": mode,
            "participants": participants,
            "debate": draft.debate.for_participants(participants) if draft.debate else None,
            "directed": draft.directed.for_participants(participants) if draft.directed else None,
        }
        prompts = LibraryPrompts({id: persona_prompt(persona) for id, persona in personas.items()}, project)
        return NewDiscussion(**fields), prompts

    async def check_change(self, tenant: str, change: DiscussionChange, current: Discussion) -> dict[str, Any]:
        """Return new values by column. Fields that the request omits are not in the dict."""
        changes = {name: value for name, value in asdict(change).items() if value is not UNSET}
        personas: dict[str, Persona] = {}
        await self._check_references(tenant, change, personas)
        if "title" in changes:
            changes["title"] = require_text(changes["title"], "title").strip()
        if "participants" in changes:
            changes["participants"] = await self.assign_participants(tenant, changes["participants"], personas)
        participants = changes.get("participants", current.participants)
        if changes.keys() & {"mode", "participants"}:
            check_mode(changes.get("mode", current.mode), participants)
        if change.debate:
            changes["debate"] = change.debate.for_participants(participants)
        if change.directed:
            changes["directed"] = change.directed.for_participants(participants)
        return changes

    async def assign_participants(
        self, tenant: str, inputs: Sequence[str | ParticipantInput], personas: dict[str, Persona] | None = None
    ) -> tuple[Participant, ...]:
        """Keep the order of `inputs`. A string is a model name. `personas` receives the personas that are read.

        Default names are the persona's name, or Alpha, Beta and so on. Raises UsageError or NotFound.
        """
        personas = {} if personas is None else personas
        participants: dict[str, Participant] = {}
        for index, given in enumerate(inputs):
            one = ParticipantInput(model=given) if isinstance(given, str) else given
            field = f"participants[{index}]"
            self.check_model(one.model, f"{field}.model")
            if self._tool_catalog is not None:
                await self._tool_catalog.validate_tools(tenant, one.tools, f"{field}.tools")
            names = default_names()
            if one.persona:
                persona = await self._find_persona(tenant, one.persona, f"{field}.persona", personas)
                names = _name_variants(persona.name)
            name = one.name if one.name is not None else first_free_name(names, participants.keys())
            id = participant_id(name)
            if id in participants:
                raise UsageError(f"{field}.name: {name!r} is taken. Choose another name.")
            tools = tuple(dict.fromkeys(one.tools))
            participants[id] = Participant(**asdict(one) | {"id": id, "name": name, "tools": tools})
        return tuple(participants.values())

    def check_model(self, model: str, field: str) -> None:
        """Raise UsageError for an unknown model. A missing key is accepted: it may be set before the request."""
        try:
            self._registry.unavailable_reason(model)
        except UsageError as error:
            raise UsageError(f"{field}: {error}") from error

    async def plan_run(
        self,
        tenant: str,
        discussion: Discussion,
        to: tuple[str, ...] | None = None,
        prompts: LibraryPrompts | None = None,  # None: read them; deleted personas and projects are skipped
    ) -> RunPlan:
        """Build the immutable plan of a run. Raises UsageError if `to` has an unknown id or is empty."""
        if to is not None:
            _check_addressees(discussion, to)
        participants = tuple(
            replace(who, model=discussion.model or who.model, persona=who.persona or discussion.persona)
            for who in discussion.participants
        )
        models = {who.model for who in participants} | ({discussion.task_model} if discussion.task_model else set())
        prompts = prompts or await self._read_prompts(tenant, participants, discussion.project)
        return RunPlan(
            mode=discussion.mode,
            participants=participants,
            personas={who.id: text for who in participants if (text := prompts.personas.get(who.persona or ""))},
            project=prompts.project,
            language=discussion.language,
            rounds=discussion.rounds,
            to=to,
            debate=discussion.debate or DebateOptions(),
            advisors=discussion.advisors or AdvisorOptions(),
            directed=discussion.directed or DirectedOptions(),
            task_model=discussion.task_model,
            model_limits=await self._context_limits.limits_for_models(models, discussion.mode),
        )

    async def _check_references(
        self, tenant: str, data: DiscussionDraft | DiscussionChange, personas: dict[str, Persona]
    ) -> str:
        """Return the prompt of the project. Raises NotFound also for ids of another tenant."""
        project = ""
        if data.persona:
            await self._find_persona(tenant, data.persona, "persona", personas)
        if data.project:
            with prefix_not_found("project"):
                project = project_prompt(await self._projects.project_facts(tenant, data.project))
        if data.language and not is_known_language(data.language):
            raise UsageError(f"language: {data.language!r} is not a known language code. Use one such as en or de.")
        for field, model in (("model", data.model), ("task_model", data.task_model)):
            if model:
                self.check_model(model, field)
        return project

    async def _find_persona(self, tenant: str, id: str, field: str, known: dict[str, Persona]) -> Persona:
        """Read a persona, unless it is in `known`, and add it there."""
        if id not in known:
            with prefix_not_found(field):
                known[id] = await self._personas.get_persona(tenant, id)
        return known[id]

    async def _read_prompts(
        self, tenant: str, participants: Sequence[Participant], project: str | None
    ) -> LibraryPrompts:
        personas, project_text = {}, ""
        for id in {who.persona for who in participants if who.persona is not None}:
            with suppress(NotFound):
                personas[id] = persona_prompt(await self._personas.get_persona(tenant, id))
        if project is not None:
            with suppress(NotFound):
                project_text = project_prompt(await self._projects.project_facts(tenant, project))
        return LibraryPrompts(personas, project_text)


def require_text(text: str, field: str = "message") -> str:
    """Raises `UsageError` if the text is blank."""
    if not text.strip():
        raise UsageError(f"{field}: it is empty. Write some text.")
    return text


def _name_variants(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {number}" for number in count(2))


def _check_addressees(discussion: Discussion, to: tuple[str, ...]) -> None:
    known = [who.id for who in discussion.participants]
    unknown = [id for id in to if id not in known]
    if unknown or not to:
        raise UsageError(f"to: unknown or missing participant. Use {', '.join(known)}, or omit it to address all.")
