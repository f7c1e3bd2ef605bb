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
    DEFAULT_EARLY_TURNS,
    DEFAULT_LESSON_TURNS,
    KNOWS_OTHERS_MODES,
    SOLO_MODES,
    AdvisorOptions,
    DebateOptions,
    DirectedOptions,
    ModeName,
)
from moot.types.participants import LessonRole, Participant, assign_lesson_roles, participant_id
from moot.types.requests import Effort
from moot.types.run_plan import RunPlan

LESSON_ROLES: Mapping[str, LessonRole] = {role: role for role in get_args(LessonRole)}
# Options that only one mode accepts, with their field names.
MODE_ONLY_OPTIONS: Mapping[ModeName, Mapping[str, str]] = {
    "consensus": {"--rounds": "rounds"},
    "debate": {"--lead": "lead", "--gate": "gate", "--quorum": "quorum", "--deadline": "deadline"},
    "advisors": {"--early": "early", "--cross-talk": "cross_talk", "--synthesis": "synthesis"},
    "directed": {"--role": "roles", "--turns": "turns", "--board": "board"},
}


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
    gate: bool = False
    quorum: int | None = None
    deadline: float | None = None
    early: int | None = None
    cross_talk: bool = False
    synthesis: bool = False
    roles: tuple[str, ...] = ()
    turns: int | None = None
    board: Path | None = None
    cap: float | None = None
    tools: tuple[str, ...] = ()
    json: bool = False
    usage: bool = False
    config: Path | None = None


def validate_options(options: AskOptions) -> None:
    """Raise UsageError for options that conflict. Makes no requests."""
    model_count = len(options.models)
    if options.mode == "single" and model_count > 1:
        raise UsageError(f"--mode single: takes one model, not {model_count}. Remove --mode, or name one model.")
    if options.mode is not None and options.mode not in SOLO_MODES and model_count < 2:
        raise UsageError(f"--mode {options.mode}: needs at least two models. Name each with -m provider/model.")
    if (misplaced := next(_find_misplaced_options(options), None)) is not None:
        option, mode = misplaced
        raise UsageError(f"{option}: only for --mode {mode}. Add --mode {mode}, or remove {option}.")
    _validate_lesson_options(options)
    if options.quorum is not None and options.quorum > model_count:
        raise UsageError(f"--quorum {options.quorum}: more than the {model_count} models. Use a smaller number.")
    for name, number in (("--deadline", options.deadline), ("--cap", options.cap)):
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
    if options.board is not None and options.board.suffix not in {".svg", ".png"}:
        raise UsageError(f"--board {options.board.name}: unknown format. The name must end in .svg or .png.")
    if options.board is not None and not options.board.absolute().parent.is_dir():
        raise UsageError(f"--board {options.board}: there is no folder {options.board.parent}. Create it first.")


def build_run_plan(options: AskOptions, participants: Sequence[Participant]) -> RunPlan:
    """Build the plan. In other modes than `KNOWS_OTHERS_MODES`, participants do not know about each other."""
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
    return RunPlan(
        mode=options.mode or ("single" if len(configured) == 1 else "parallel"),
        participants=assign_lesson_roles(configured, options.mode),
        personas={who.id: system for who in configured} if system else {},
        rounds=options.rounds or 2,
        introduced=options.mode in KNOWS_OTHERS_MODES,
        debate=DebateOptions(
            lead=_resolve_lead(options.lead, participants),
            quorum=options.quorum,
            deadline=options.deadline,
            gate=options.gate,
        ),
        directed=DirectedOptions(turns=options.turns or DEFAULT_LESSON_TURNS),
        advisors=AdvisorOptions(
            early=DEFAULT_EARLY_TURNS if options.early is None else options.early,
            cross_talk=options.cross_talk,
            synthesis=options.synthesis,
        ),
        cap=options.cap,
    )


def repair_encoding(text: str) -> str:
    """Replace bytes of an argument that are not valid UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _find_misplaced_options(options: AskOptions) -> Iterator[tuple[str, str]]:
    """Yield each given option that belongs to another mode, with that mode."""
    for mode, names in MODE_ONLY_OPTIONS.items():
        for option, field in names.items():
            if options.mode != mode and _is_given(getattr(options, field)):
                yield option, mode


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
