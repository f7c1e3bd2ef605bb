"""Validates the participants and mode rules that SDK users pass."""

from collections.abc import Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import asdict, replace

from moot.prompts.library import builtin_personas, persona_prompt
from moot.server.schemas import AdvisorRules, DebateRules, LessonRules, MaxCostUsd, Rounds
from moot.services.participants import ParticipantInput
from moot.types.debate import DebateOptions
from moot.types.errors import NotFound, UsageError
from moot.types.modes import AdvisorOptions, DirectedOptions, LessonRole, ModeName
from moot.types.participants import Participant, default_names, participant_id
from moot.types.personas import Persona
from moot.types.requests import Effort
from moot.types.run_plan import RunPlan


class ParticipantSpec(Struct, frozen=True, kw_only=True):
    """Somebody at the table: a model, and perhaps a name and who it is, by a `persona` of the library or in a `prompt`."""

    model: str
    name: str | None = None
    persona: str | None = None
    prompt: str = ""
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None


def build_participants(
    specs: Sequence[str | ParticipantSpec], mode: ModeName | None
) -> list[tuple[Participant, ParticipantSpec]]:
    """Give everybody a seat: under its own name or its persona's, or as Alpha, Beta and so on."""
    seats: dict[str, tuple[Participant, ParticipantSpec]] = {}
    for place, (one, usual) in enumerate(zip(specs, default_names(), strict=False)):
        voice = ParticipantSpec(model=one) if isinstance(one, str) else one
        name = voice.name or (_find_persona(voice.persona).name if voice.persona else usual)
        id = participant_id(name)
        if id in seats:
            raise UsageError(f"Two are called {name!r}: give one of them another name.")
        lesson: LessonRole = "student" if place else "teacher"
        who = Participant(
            id=id,
            name=name,
            model=voice.model,
            temperature=voice.temperature,
            max_tokens=voice.max_tokens,
            thinking=voice.thinking,
            role=voice.role or (lesson if mode == "directed" else None),
        )
        seats[id] = (who, voice)
    return list(seats.values())


def participant_prompt(spec: ParticipantSpec, system: str) -> str:
    own = persona_prompt(_find_persona(spec.persona)) if spec.persona else ""
    return "\n\n".join(filter(None, (own, spec.prompt, system)))


def _find_persona(name: str) -> Persona:
    """Find a persona of the library by its name or id."""
    for one in builtin_personas():
        if name.casefold() in {one.id, one.id.removeprefix("shipped_"), one.name.casefold()}:
            return one
    raise NotFound(
        f"There is no persona {name!r}: there are {', '.join(one.name for one in builtin_personas())}."
    )


ModeRules = DebateOptions | AdvisorOptions | DirectedOptions
OPTIONS_MODES: dict[type[ModeRules], ModeName] = {
    DebateOptions: "debate",
    AdvisorOptions: "advisors",
    DirectedOptions: "directed",
}


class AskOptions(Struct, frozen=True, kw_only=True):
    models: list[str | ParticipantInput]
    mode: ModeName | None
    rounds: Rounds
    cap: MaxCostUsd | None
    debate: DebateRules | None = None
    advisors: AdvisorRules | None = None
    directed: LessonRules | None = None

    def apply_rules(self, plan: RunPlan) -> RunPlan:
        """Give a plan its rules, which those who sit there must be able to keep."""
        return replace(
            plan,
            debate=self.debate.to_debate(plan.participants) if self.debate else plan.debate,
            advisors=self.advisors.to_advisors() if self.advisors else plan.advisors,
            directed=self.directed.to_directed(plan.participants) if self.directed else plan.directed,
        )


def validate_options(
    models: Sequence[str | ParticipantSpec],
    mode: ModeName | None,
    rules: ModeRules | None,
    rounds: int,
    cap: float | None,
) -> AskOptions:
    """Check each for itself, and name what does not fit."""
    is_list = isinstance(models, Sequence) and not isinstance(models, str)
    wanted = {"models": [_participant_fields(one) for one in models] if is_list else models, "mode": mode}
    ruled: dict[str, object] = (
        {OPTIONS_MODES[type(rules)]: asdict(rules)} if isinstance(rules, ModeRules) else {}
    )
    try:
        return msgspec.convert({**wanted, **ruled, "rounds": rounds, "cap": cap}, AskOptions)
    except msgspec.ValidationError as error:
        raise UsageError(_validation_message(str(error))) from None


def _participant_fields(one: str | ParticipantSpec) -> object:
    """Write a voice as a seat; its prompt is for nobody to check."""
    if not isinstance(one, ParticipantSpec):
        return one
    return {name: value for name, value in asdict(one).items() if name != "prompt"}


def _validation_message(error: str) -> str:
    from moot.server.validation_messages import explain_validation_error

    message, _, path = error.rpartition(" - at `$.")
    field = path.rstrip("`")
    return f"{field}: {explain_validation_error(message, AskOptions, field)}"
