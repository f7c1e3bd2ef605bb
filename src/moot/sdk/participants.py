"""Validation of the participants and mode options that SDK users pass."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from moot.prompts.library import builtin_personas, persona_prompt
from moot.services.run_plans import ParticipantInput
from moot.services.validation_messages import explain_validation_error
from moot.types.billing import MaxCostUsd
from moot.types.errors import NotFound, UsageError
from moot.types.modes import (
    MODES,
    AdvisorOptions,
    DebateOptions,
    DirectedOptions,
    ModeName,
    ModeOptions,
    Rounds,
    assign_lesson_roles,
)
from moot.types.participants import LessonRole, Participant, default_names, participant_id
from moot.types.personas import Persona
from moot.types.requests import Effort
from moot.types.run_plan import RunPlan


class ParticipantSpec(Struct, frozen=True, kw_only=True):
    """A participant of a run. A string with the model name is a participant with default values."""

    model: str
    name: str | None = None  # None: the name of the persona, or Alpha, Beta and so on
    persona: str | None = None  # name or id of a built-in persona
    prompt: str = ""  # system prompt, after the prompt of the persona
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None  # in directed mode; None: the first is the teacher if there is none


def build_participants(
    specs: Sequence[str | ParticipantSpec], mode: ModeName | None
) -> list[tuple[Participant, ParticipantSpec]]:
    """Return participants in the order of `specs`. Raises UsageError if a name is used twice."""
    inputs = [ParticipantSpec(model=one) if isinstance(one, str) else one for one in specs]
    participants: dict[str, Participant] = {}
    for spec, default_name in zip(inputs, default_names(), strict=False):
        name = spec.name or (_find_persona(spec.persona).name if spec.persona else default_name)
        id = participant_id(name)
        if id in participants:
            raise UsageError(f"models: the name {name!r} is used twice. Choose another name.")
        participants[id] = Participant(
            id=id,
            name=name,
            model=spec.model,
            temperature=spec.temperature,
            max_tokens=spec.max_tokens,
            thinking=spec.thinking,
            role=spec.role,
        )
    return list(zip(assign_lesson_roles([*participants.values()], mode), inputs, strict=True))


def participant_prompt(spec: ParticipantSpec, system: str) -> str:
    own = persona_prompt(_find_persona(spec.persona)) if spec.persona else ""
    return "\n\n".join(filter(None, (own, spec.prompt, system)))


def _find_persona(name: str) -> Persona:
    """Raises NotFound. `name` is a name in any case, or an id."""
    for one in builtin_personas():
        if name.casefold() in {one.id, one.id.removeprefix("shipped_"), one.name.casefold()}:
            return one
    raise NotFound(f"persona: {name!r} does not exist. Use one of {', '.join(one.name for one in builtin_personas())}.")


OPTIONS_MODES: dict[type[ModeOptions], str] = {spec.options: mode for mode, spec in MODES.items() if spec.options}


class AskArguments(Struct, frozen=True, kw_only=True):
    """Schema of the arguments of `ask`, with the same limits as in the HTTP API."""

    models: list[str | ParticipantInput]
    mode: ModeName | None
    rounds: Rounds
    max_cost_usd: MaxCostUsd | None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None

    def apply_options(self, plan: RunPlan) -> RunPlan:
        """Raises UsageError if the options do not match the participants."""
        return replace(
            plan,
            debate=self.debate.for_participants(plan.participants) if self.debate else plan.debate,
            advisors=self.advisors or plan.advisors,
            directed=self.directed.for_participants(plan.participants) if self.directed else plan.directed,
        )


def validate_arguments(
    models: Sequence[str | ParticipantSpec],
    mode: ModeName | None,
    options: ModeOptions | None,
    rounds: int,
    max_cost_usd: float | None,
) -> AskArguments:
    """Raises UsageError that names the invalid argument."""
    is_list = isinstance(models, Sequence) and not isinstance(models, str)
    arguments: dict[str, object] = {
        "models": [_participant_fields(one) for one in models] if is_list else models,
        "mode": mode,
        "rounds": rounds,
        "max_cost_usd": max_cost_usd,
    }
    if isinstance(options, ModeOptions):
        arguments[OPTIONS_MODES[type(options)]] = asdict(options)
    try:
        return msgspec.convert(arguments, AskArguments)
    except msgspec.ValidationError as error:
        raise UsageError(": ".join(explain_validation_error(str(error), AskArguments))) from None


def _participant_fields(one: str | ParticipantSpec) -> object:
    """Return the fields for validation. The prompt has no limits."""
    if not isinstance(one, ParticipantSpec):
        return one
    return {name: value for name, value in asdict(one).items() if name != "prompt"}
