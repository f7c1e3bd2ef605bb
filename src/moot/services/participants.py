"""Participant resolver: validates requested participants, and gives them names and ids."""

from collections.abc import Container, Iterator, Sequence
from itertools import count
from typing import Annotated

from msgspec import Meta, Struct

from moot.engine.tools.catalog import ToolCatalog
from moot.providers.registry import Registry
from moot.store.library.personas import Personas
from moot.types.errors import UsageError, prefix_not_found
from moot.types.participants import LessonRole, Participant, default_names, first_free_name, participant_id
from moot.types.personas import Colour
from moot.types.primitives import ModelName, Name
from moot.types.requests import Effort
from moot.types.tools import ToolName


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


class ParticipantResolver:
    def __init__(self, registry: Registry, personas: Personas, tool_catalog: ToolCatalog | None = None) -> None:
        self._registry = registry
        self._personas = personas
        self._tool_catalog = tool_catalog

    async def resolve_participants(
        self, tenant: str, specs: Sequence[str | ParticipantInput]
    ) -> tuple[Participant, ...]:
        """Keep the order of `specs`. A string is a model name.

        Default names are the persona's name, or Alpha, Beta and so on. Raises UsageError or NotFound.
        """
        participants: dict[str, Participant] = {}
        for index, spec in enumerate(specs):
            one = ParticipantInput(model=spec) if isinstance(spec, str) else spec
            self.check_model(one.model, f"participants[{index}].model")
            if self._tool_catalog is not None:
                await self._tool_catalog.validate_tools(tenant, one.tools, f"participants[{index}].tools")
            with prefix_not_found(f"participants[{index}].persona"):
                name = await self._choose_name(tenant, one, participants.keys())
            if participant_id(name) in participants:
                raise UsageError(f"participants[{index}].name: {name!r} is taken. Choose another name.")
            participants[participant_id(name)] = _build_participant(one, name)
        return tuple(participants.values())

    def check_model(self, model: str, field: str) -> None:
        """Raise UsageError for an unknown model. A missing key is accepted: it may be set before the request."""
        try:
            self._registry.unavailable_reason(model)
        except UsageError as error:
            raise UsageError(f"{field}: {error}") from error

    async def _choose_name(self, tenant: str, spec: ParticipantInput, used_ids: Container[str]) -> str:
        persona = await self._personas.get_persona(tenant, spec.persona) if spec.persona else None
        if spec.name is not None:
            return spec.name
        return first_free_name(_name_variants(persona.name) if persona else default_names(), used_ids)


def _name_variants(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name} {number}" for number in count(2))


def _build_participant(spec: ParticipantInput, name: str) -> Participant:
    return Participant(
        id=participant_id(name),
        name=name,
        model=spec.model,
        persona=spec.persona,
        temperature=spec.temperature,
        max_tokens=spec.max_tokens,
        thinking=spec.thinking,
        role=spec.role,
        priority=spec.priority,
        active=spec.active,
        colour=spec.colour,
        avatar=spec.avatar,
        tools=tuple(dict.fromkeys(spec.tools)),
    )
