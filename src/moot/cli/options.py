"""The options of `moot ask`: which of them go together, and the plan that follows from them."""

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from moot.model.advisors import EARLY, Advisors
from moot.model.debates import Debate
from moot.model.errors import UsageError
from moot.model.modes import ALONE_TOO, TOGETHER, ModeName
from moot.model.participants import Participant, participant_id
from moot.model.plans import Plan
from moot.model.requests import Effort


class Options(Struct, frozen=True, kw_only=True):
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
    cap: float | None = None
    json: bool = False
    usage: bool = False
    config: Path | None = None


def check(options: Options) -> None:
    """Refuse what does not go together, before anybody is looked for."""
    named = len(options.models)
    if options.mode == "single" and named > 1:
        raise UsageError(
            f"--mode single asks one model, and {named} are named: leave --mode out, or name one model."
        )
    if options.mode is not None and options.mode not in ALONE_TOO and named < 2:
        raise UsageError(
            f"A {options.mode} needs at least two models: name each of them with -m provider/model."
        )
    if options.rounds is not None and options.mode != "consensus":
        raise UsageError("--rounds are those of a consensus: add --mode consensus, or leave --rounds out.")
    if options.mode != "debate" and (rule := next(_rules_of_a_debate(options), None)):
        raise UsageError(f"{rule} is a rule of debates: add --mode debate, or leave {rule} out.")
    if options.mode != "advisors" and (rule := next(_rules_of_advisors(options), None)):
        raise UsageError(f"{rule} is a rule of advisors: add --mode advisors, or leave {rule} out.")
    if options.quorum is not None and options.quorum > named:
        raise UsageError(f"--quorum {options.quorum} is more than the {named} who take part: ask for fewer.")
    for name, number in (("--deadline", options.deadline), ("--cap", options.cap)):
        if number is not None and not 0 < number < inf:
            raise UsageError(f"{name} must be more than 0.")


def plan(options: Options, participants: Sequence[Participant]) -> Plan:
    """Say what is to be done; without a consensus or debate, each is asked as if it were alone."""
    asked = tuple(
        replace(
            who, temperature=options.temperature, max_tokens=options.max_tokens, thinking=options.thinking
        )
        for who in participants
    )
    system = typed(options.system)
    return Plan(
        mode=options.mode or ("single" if len(asked) == 1 else "parallel"),
        participants=asked,
        personas={who.id: system for who in asked} if system else {},
        rounds=options.rounds or 2,
        introduced=options.mode in TOGETHER,
        debate=Debate(
            lead=_lead(options.lead, participants),
            quorum=options.quorum,
            deadline=options.deadline,
            gate=options.gate,
        ),
        advisors=Advisors(
            early=EARLY if options.early is None else options.early,
            cross_talk=options.cross_talk,
            synthesis=options.synthesis,
        ),
        cap=options.cap,
    )


def typed(words: str) -> str:
    """Mend what was typed in another encoding than UTF-8."""
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _rules_of_a_debate(options: Options) -> Iterator[str]:
    if options.lead is not None:
        yield "--lead"
    if options.gate:
        yield "--gate"
    if options.quorum is not None:
        yield "--quorum"
    if options.deadline is not None:
        yield "--deadline"


def _rules_of_advisors(options: Options) -> Iterator[str]:
    if options.early is not None:
        yield "--early"
    if options.cross_talk:
        yield "--cross-talk"
    if options.synthesis:
        yield "--synthesis"


def _lead(wanted: str | None, participants: Sequence[Participant]) -> str | None:
    """Find who is meant, by name or by the number of its -m."""
    if wanted is None:
        return None
    by_number = {str(number): who.id for number, who in enumerate(participants, start=1)}
    known = by_number | {who.id: who.id for who in participants}
    if (found := known.get(participant_id(wanted))) is None:
        names = ", ".join(who.name for who in participants)
        raise UsageError(
            f"--lead {typed(wanted)}: nobody is called so. Name one of {names}, or a number from 1 to {len(participants)}."
        )
    return found
