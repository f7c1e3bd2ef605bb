"""What a participant is sent: the layers of its system prompt, and the discussion as seen from its seat.

Pure: the same plan and the same messages give the same request, so what somebody saw can be shown again later.
"""

from collections.abc import Iterator, Sequence

from moot.prompts import advisors
from moot.prompts.language import name_of
from moot.prompts.lesson import lesson, own_turn
from moot.prompts.parts import Attached, Origin, Piece, enclosures, messages_of, system_of
from moot.prompts.templates import written
from moot.prompts.tokens import listed
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import Plan

IDENTITIES = {
    "single": "called_upon",
    "parallel": "side_by_side",
    "consensus": "roundtable",
    "continue": "roundtable",
    "debate": "debating",
}


def prompt(
    plan: Plan,
    who: Participant,
    seen: Sequence[Message],
    instruction: str = "",
    attached: Attached | None = None,
) -> ModelRequest:
    """Write the request for one turn; `attached` are files and the like, by the message they came with."""
    made = pieces(plan, who, seen, instruction, attached)
    return ModelRequest(
        model=who.model,
        system=system_of(made),
        messages=messages_of(made),
        temperature=who.temperature,
        max_tokens=who.max_tokens,
        thinking=who.thinking,
    )


def pieces(
    plan: Plan,
    who: Participant,
    seen: Sequence[Message],
    instruction: str = "",
    attached: Attached | None = None,
) -> list[Piece]:
    """Make all that a request consists of, in its order: the layers of the system prompt, then what was said."""
    system = list(_layers(plan, who, seen))
    if plan.advised:
        told = advisors.thread(plan, who, seen, instruction, attached or {}, system_of(system))
    else:
        told = [one for message in seen for one in _told(plan, message, who, attached or {})]
        if instruction:
            told.append(Piece("user", "instruction", Text(instruction)))
    return system + _framed(told)


def system_prompt(plan: Plan, who: Participant, seen: Sequence[Message] = ()) -> str:
    return system_of(_layers(plan, who, seen))


def _layers(plan: Plan, who: Participant, seen: Sequence[Message]) -> Iterator[Piece]:
    """Put the layers in their order: stable ones first, so that providers can cache them."""
    persona = plan.personas.get(who.id, "")
    match plan.mode:
        case "advisors" if plan.advised:
            identity = advisors.identity(plan, who, seen)
        case "advisors":  # none of them is active: whoever answers is nobody in particular
            persona = identity = ""
        case "directed":
            identity = lesson(plan, who)
        case _:
            identity = _identity(plan, who)
    layers: tuple[tuple[Origin, str], ...] = (
        ("persona", persona),
        ("mode", identity),
        ("project", plan.project),
        ("language", _language(plan)),
        ("memory", plan.memories.get(who.id, "")),
    )
    for origin, layer in layers:
        if text := layer.strip():
            yield Piece("system", origin, Text(text))


def _framed(told: list[Piece]) -> list[Piece]:
    """See to it that the first and the last word are the user's, as providers want it."""
    if not told or told[-1].role == "assistant":
        told = [*told, Piece("user", "filler", Text(written("your_turn")))]
    if told[0].role == "assistant":
        told = [Piece("user", "filler", Text(written("not_shown"))), *told]
    return told


def _told(plan: Plan, message: Message, who: Participant, attached: Attached) -> list[Piece]:
    """Give people's words and one's own as they are, and those of the others under their names."""
    if message.participant == who.id:
        if plan.mode == "directed":
            return own_turn(message)
        return [Piece("assistant", "own", Text(message.content), message.name, message.id)]
    if message.role == "user":
        origin: Origin = "instruction" if message.hidden else "message"
        words = Piece("user", origin, Text(message.content), None, message.id)
        return [*enclosures(attached, message.id), words]
    said = "summed up for the table" if message.role == "synthesis" and message.name else "said"
    cut_off = "" if message.status == "completed" else ", and was cut off"
    text = Text(f"{message.name or 'The table'} {said}{cut_off}:\n\n{message.content}")
    return [Piece("user", "message", text, message.name, message.id)]


def _identity(plan: Plan, who: Participant) -> str:
    """Say who one is and who else is there, unless one is alone, or is to feel so."""
    present = [other for other in plan.participants if other.id != who.id]
    answering = [other for other in plan.speaking if other.id != who.id]
    if not present or not plan.introduced:
        return ""
    name = IDENTITIES[plan.mode] if answering else "called_upon"
    others = present if name == "called_upon" else answering
    return written(name).format(name=who.name, others=listed([other.name for other in others]))


def _language(plan: Plan) -> str:
    return written("language").format(language=name_of(plan.language)) if plan.language else ""
