"""Options of `moot ask` and `moot chat`: validation, and conversion to a run plan."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import get_args

from msgspec import Struct
from msgspec.structs import replace

from moot.types.errors import UsageError
from moot.types.modes import (
    DEFAULT_LESSON_TURNS,
    DEFAULT_QUESTION_TURNS,
    MODES,
    AdvisorOptions,
    DebateOptions,
    DirectedOptions,
    ModeName,
    ModeSpec,
    assign_lesson_roles,
    default_mode,
)
from moot.types.participants import LessonRole, Participant, participant_id
from moot.types.requests import Effort
from moot.types.run_plan import RunPlan

LESSON_ROLES: Mapping[str, LessonRole] = {role: role for role in get_args(LessonRole)}


class AskOptions(Struct, frozen=True, kw_only=True):
    question: str
    models: tuple[str, ...] = ()
    system: str = ""
    files: tuple[Path, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    mode: ModeName | None = None
    rounds: int | None = None
    lead: str | None = None
    skip_if_agreed: bool = False
    quorum: int | None = None
    deadline: float | None = None
    question_turns: int | None = None
    cross_talk: bool = False
    synthesis: bool = False
    roles: tuple[str, ...] = ()
    turns: int | None = None
    whiteboard: Path | None = None
    max_cost_usd: float | None = None
    tools: tuple[str, ...] = ()
    json: bool = False
    usage: bool = False
    config: Path | None = None


def validate_options(options: AskOptions) -> None:
    """Raise UsageError for options that conflict. Makes no requests."""
    model_count = len(options.models)
    if (mode := options.mode) is not None:
        if MODES[mode].only_first and model_count > 1:
            raise UsageError(f"--mode {mode}: takes one model, not {model_count}. Remove --mode, or name one model.")
        if max(model_count, 1) < MODES[mode].min_participants:
            raise UsageError(f"--mode {mode}: needs at least two models. Name each with -m provider/model.")
    if (misplaced := next(_find_misplaced_options(options), None)) is not None:
        option, wanted = misplaced
        raise UsageError(f"{option}: only for --mode {wanted}. Add --mode {wanted}, or remove {option}.")
    _validate_lesson_options(options)
    if options.quorum is not None and options.quorum > model_count:
        raise UsageError(f"--quorum {options.quorum}: more than the {model_count} models. Use a smaller number.")
    for name, number in (("--deadline", options.deadline), ("--max-cost-usd", options.max_cost_usd)):
        if number is not None and not 0 < number < inf:
            raise UsageError(f"{name} must be more than 0.")


def _validate_lesson_options(options: AskOptions) -> None:
    model_count = len(options.models)
    if unknown := next((role for role in options.roles if role not in LESSON_ROLES), None):
        raise UsageError(f"--role {repair_encoding(unknown)}: unknown role. Choose one of {', '.join(LESSON_ROLES)}.")
    if len(options.roles) > model_count:
        raise UsageError(
            f"--role: given {len(options.roles)} times for {model_count} models. Give it at most once per model."
        )
    if options.whiteboard is not None and options.whiteboard.suffix not in {".svg", ".png"}:
        raise UsageError(f"--whiteboard {options.whiteboard.name}: unknown format. The name must end in .svg or .png.")
    if options.whiteboard is not None and not options.whiteboard.absolute().parent.is_dir():
        raise UsageError(
            f"--whiteboard {options.whiteboard}: there is no folder {options.whiteboard.parent}. Create it first."
        )


def build_run_plan(options: AskOptions, participants: Sequence[Participant]) -> RunPlan:
    """Build the plan. Participants know about each other only if `ModeSpec.knows_others`."""
    configured = [
        replace(
            who,
            temperature=options.temperature,
            max_tokens=options.max_tokens,
            thinking=options.thinking,
            role=LESSON_ROLES[role] if role else None,
            tools=options.tools,
        )
        for who, role in zip_longest(participants, options.roles)
    ]
    system = repair_encoding(options.system)
    mode = options.mode or default_mode(configured)
    return RunPlan(
        mode=mode,
        participants=assign_lesson_roles(configured, mode),
        personas={who.id: system for who in configured} if system else {},
        rounds=options.rounds or 2,
        knows_others=MODES[mode].knows_others,
        debate=DebateOptions(
            lead=_resolve_lead(options.lead, participants),
            quorum=options.quorum,
            deadline=options.deadline,
            skip_if_agreed=options.skip_if_agreed,
        ),
        directed=DirectedOptions(turns=options.turns or DEFAULT_LESSON_TURNS),
        advisors=AdvisorOptions(
            question_turns=DEFAULT_QUESTION_TURNS if options.question_turns is None else options.question_turns,
            cross_talk=options.cross_talk,
            synthesis=options.synthesis,
        ),
        max_cost_usd=options.max_cost_usd,
    )


def repair_encoding(text: str) -> str:
    """Replace bytes of an argument that are not valid UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _find_misplaced_options(options: AskOptions) -> Iterator[tuple[str, str]]:
    """Yield each given option that the mode does not accept, with a mode that accepts it."""
    for field in AskOptions.__struct_fields__:
        accepting = [mode for mode, spec in MODES.items() if _has_option(spec, field)]
        if accepting and options.mode not in accepting and _is_given(getattr(options, field)):
            yield "--role" if field == "roles" else f"--{field.replace('_', '-')}", accepting[0]


def _has_option(spec: ModeSpec, field: str) -> bool:
    """True if the option belongs to the mode. Options that all modes accept belong to none."""
    match field:
        case "rounds":
            return spec.in_rounds
        case "roles":
            return spec.has_roles
        case "whiteboard":
            return spec.has_whiteboard
    return spec.options is not None and field in spec.options.__struct_fields__


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != ()


def _resolve_lead(name_or_number: str | None, participants: Sequence[Participant]) -> str | None:
    """Return the id of the participant with this name or -m number. Raises UsageError."""
    if name_or_number is None:
        return None
    by_number = {str(number): who.id for number, who in enumerate(participants, start=1)}
    known = by_number | {who.id: who.id for who in participants}
    if (found := known.get(participant_id(name_or_number))) is None:
        names = ", ".join(who.name for who in participants)
        raise UsageError(
            f"--lead {repair_encoding(name_or_number)}: no such participant. Name one of {names}, or a number from 1 to {len(participants)}."
        )
    return found
