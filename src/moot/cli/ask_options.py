"""Options of `moot ask` and `moot chat`: declaration, validation, and conversion to a run plan."""

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import inf
from pathlib import Path
from typing import Annotated, get_args

import typer
from msgspec import Struct
from msgspec.structs import replace

from moot.cli.options import Config, ServerUrl
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
    """Options of `moot ask`, in the order of its help."""

    question: Annotated[str, typer.Argument(help="The question. Piped standard input is added to it.")] = ""
    models: Annotated[
        list[str], typer.Option("--model", "-m", help="provider/model. May be given several times.", metavar="MODEL")
    ] = []
    system: Annotated[str, typer.Option(help="A system prompt for all models.")] = ""
    files: Annotated[
        list[Path], typer.Option("--file", "-f", help="Attach text, an image or a PDF.", metavar="FILE")
    ] = []
    temperature: Annotated[float | None, typer.Option(min=0.0, max=2.0)] = None
    max_tokens: Annotated[int | None, typer.Option(min=1)] = None
    thinking: Annotated[Effort | None, typer.Option(help="Request reasoning, if the model supports it.")] = None
    mode: Annotated[
        ModeName | None,
        typer.Option(
            help="How several models answer: independently (parallel), in rounds, reading each other (consensus), first alone, then as rebuttals, with a synthesis (debate), each as a private adviser (advisors), or one at a time, chosen by a director, with a whiteboard (directed)."
        ),
    ] = None
    rounds: Annotated[int | None, typer.Option(min=1, max=10, help="Rounds of a consensus. Default: 2.")] = None
    lead: Annotated[
        str | None,
        typer.Option(
            help="Who writes the synthesis of a debate: a name such as Beta, or the number of its -m. Default: the first."
        ),
    ] = None
    skip_if_agreed: Annotated[
        bool, typer.Option("--skip-if-agreed", help="Skip the debate if the first answers agree.")
    ] = False
    quorum: Annotated[int | None, typer.Option(min=1, help="End a stage of a debate after N answers.", metavar="N")] = (
        None
    )
    deadline: Annotated[
        float | None, typer.Option(help="Time limit for each stage of a debate.", metavar="SECONDS")
    ] = None
    question_turns: Annotated[
        int | None,
        typer.Option(
            min=0, max=100, help="First turns in which an advisor only asks questions. Default: 3.", metavar="N"
        ),
    ] = None
    cross_talk: Annotated[bool, typer.Option("--cross-talk", help="Let advisors answer each other once.")] = False
    synthesis: Annotated[bool, typer.Option("--synthesis", help="Let the first advisor write a synthesis.")] = False
    roles: Annotated[
        list[str],
        typer.Option(
            "--role",
            help="Roles in a directed discussion, in the order of -m: teacher, assistant or student. Default: the first is the teacher, the others are students.",
            metavar="ROLE",
        ),
    ] = []
    turns: Annotated[int | None, typer.Option(min=1, max=20, help="Turns of a directed discussion. Default: 10.")] = (
        None
    )
    whiteboard: Annotated[
        Path | None,
        typer.Option(help="Write the whiteboard of a directed discussion to a .svg or .png file.", metavar="FILE"),
    ] = None
    tools: Annotated[
        list[str],
        typer.Option(
            help="A tool server from the settings, or SERVER/TOOL. May be given several times.", metavar="NAME"
        ),
    ] = []
    max_cost_usd: Annotated[
        float | None,
        typer.Option(help="Start no further turns once the run has cost this much (US dollars).", metavar="DOLLARS"),
    ] = None
    json: Annotated[bool, typer.Option("--json", help="Print every event, one JSON object per line.")] = False
    usage: Annotated[bool, typer.Option("--usage", help="Print tokens, cost and times at the end.")] = False
    config: Config = None


class ChatOptions(AskOptions, frozen=True, kw_only=True):
    """Options of `moot chat`: those of `CHAT_OPTIONS`, for a new discussion or a stored one."""

    discussion: Annotated[str | None, typer.Argument(help="The id of a discussion to continue.")] = None
    last: Annotated[bool, typer.Option("--last", help="Continue the newest discussion.")] = False
    server: ServerUrl = None


CHAT_OPTIONS = (
    *("discussion", "last", "models", "mode", "temperature", "max_tokens", "thinking", "rounds", "lead"),
    *("skip_if_agreed", "quorum", "deadline", "question_turns", "cross_talk", "synthesis", "roles", "turns"),
    *("max_cost_usd", "server", "config"),
)


def validate_options(options: AskOptions) -> None:
    """Raise UsageError for options that conflict. Makes no requests."""
    model_count = len(options.models)
    if (mode := options.mode) is not None:
        if MODES[mode].only_first and model_count > 1:
            raise UsageError(f"--mode {mode}: takes one model, not {model_count}. Remove --mode, or name one model.")
        if max(model_count, 1) < MODES[mode].min_participants:
            raise UsageError(f"--mode {mode}: needs at least two models. Name each with -m provider/model.")
    _reject_misplaced_options(options)
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
            tools=tuple(options.tools),
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


def _reject_misplaced_options(options: AskOptions) -> None:
    defaults = AskOptions()
    for field in AskOptions.__struct_fields__:
        accepting = [mode for mode, spec in MODES.items() if _has_option(spec, field)]
        if accepting and options.mode not in accepting and getattr(options, field) != getattr(defaults, field):
            option = "--role" if field == "roles" else f"--{field.replace('_', '-')}"
            raise UsageError(
                f"{option}: only for --mode {accepting[0]}. Add --mode {accepting[0]}, or remove {option}."
            )


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
