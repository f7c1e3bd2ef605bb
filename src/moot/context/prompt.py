"""What a participant is sent: the layers of its system prompt, and the discussion as seen from its seat.

Pure: the same plan and the same messages give the same request, so what somebody saw can be shown again later.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby

from moot.context import advisors
from moot.context.fitting import listed
from moot.context.language import name_of
from moot.context.lesson import lesson, own_turn
from moot.context.prompts import written
from moot.model.discussions import Message
from moot.model.participants import Participant
from moot.model.plans import Plan
from moot.model.requests import Message as Told
from moot.model.requests import ModelRequest, Part, assistant, user

IDENTITIES = {
    "single": "called_upon",
    "parallel": "side_by_side",
    "consensus": "roundtable",
    "continue": "roundtable",
    "debate": "debating",
}

Attached = Mapping[str, tuple[Part, ...]]


def prompt(
    plan: Plan,
    who: Participant,
    seen: Sequence[Message],
    instruction: str = "",
    attached: Attached | None = None,
) -> ModelRequest:
    """Write the request for one turn; `attached` are files and the like, by the message they came with."""
    system = system_prompt(plan, who, seen)
    if plan.advised:
        told = advisors.thread(plan, who, seen, instruction, attached or {}, system)
    else:
        told = [one for message in seen for one in _told(plan, message, who, attached or {})]
        told += [user(instruction)] if instruction else []
    return ModelRequest(
        model=who.model,
        system=system,
        messages=_alternating(told),
        temperature=who.temperature,
        max_tokens=who.max_tokens,
        thinking=who.thinking,
    )


def system_prompt(plan: Plan, who: Participant, seen: Sequence[Message] = ()) -> str:
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
    layers = (persona, identity, plan.project, _language(plan))
    return "\n\n".join(layer.strip() for layer in layers if layer.strip())


def _alternating(told: list[Told]) -> tuple[Told, ...]:
    """Merge neighbours of one role; providers want the first and the last word to be the user's."""
    if not told or told[-1].role == "assistant":
        told = [*told, user(written("your_turn"))]
    if told[0].role == "assistant":
        told = [user(written("not_shown")), *told]
    return tuple(
        Told(role, tuple(part for message in neighbours for part in message.parts))
        for role, neighbours in groupby(told, key=lambda message: message.role)
    )


def _told(plan: Plan, message: Message, who: Participant, attached: Attached) -> list[Told]:
    """Give people's words and one's own as they are, and those of the others under their names."""
    if message.participant == who.id:
        return own_turn(message) if plan.mode == "directed" else [assistant(message.content)]
    if message.role == "user":
        return [user(*attached.get(message.id, ()), message.content)]
    said = "summed up for the table" if message.role == "synthesis" and message.name else "said"
    cut_off = "" if message.status == "completed" else ", and was cut off"
    return [user(f"{message.name or 'The table'} {said}{cut_off}:\n\n{message.content}")]


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
