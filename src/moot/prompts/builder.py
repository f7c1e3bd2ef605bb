"""What a participant is sent: the layers of its system prompt, and the discussion as seen from its seat.

Pure: the same plan and the same messages give the same request, so what somebody saw can be shown again later.
"""

from collections.abc import Iterator, Sequence

from moot.prompts import advisors
from moot.prompts.language import language_name
from moot.prompts.lesson import lesson_identity, own_turn_pieces
from moot.prompts.parts import (
    AttachmentsByMessage,
    Origin,
    PromptPiece,
    attachment_pieces,
    group_into_messages,
    system_text,
)
from moot.prompts.templates import load_template
from moot.prompts.tokens import join_names
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan

IDENTITY_TEMPLATES = {
    "single": "called_upon",
    "parallel": "side_by_side",
    "consensus": "roundtable",
    "continue": "roundtable",
    "debate": "debating",
}


def build_model_request(
    plan: RunPlan,
    participant: Participant,
    visible_messages: Sequence[Message],
    instruction: str = "",
    attachments: AttachmentsByMessage | None = None,
) -> ModelRequest:
    """Write the request for one turn; `attached` are files and the like, by the message they came with."""
    made = build_pieces(plan, participant, visible_messages, instruction, attachments)
    return ModelRequest(
        model=participant.model,
        system=system_text(made),
        messages=group_into_messages(made),
        temperature=participant.temperature,
        max_tokens=participant.max_tokens,
        thinking=participant.thinking,
    )


def build_pieces(
    plan: RunPlan,
    participant: Participant,
    visible_messages: Sequence[Message],
    instruction: str = "",
    attachments: AttachmentsByMessage | None = None,
) -> list[PromptPiece]:
    """Make all that a request consists of, in its order: the layers of the system prompt, then what was said."""
    system = list(_system_layers(plan, participant, visible_messages))
    if plan.has_advisors:
        told = advisors.advisor_thread(
            plan, participant, visible_messages, instruction, attachments or {}, system_text(system)
        )
    else:
        told = [
            one
            for message in visible_messages
            for one in _message_pieces(plan, message, participant, attachments or {})
        ]
        if instruction:
            told.append(PromptPiece("user", "instruction", Text(instruction)))
    return system + _ensure_user_ends(told)


def build_system_prompt(
    plan: RunPlan, participant: Participant, visible_messages: Sequence[Message] = ()
) -> str:
    return system_text(_system_layers(plan, participant, visible_messages))


def _system_layers(
    plan: RunPlan, participant: Participant, visible_messages: Sequence[Message]
) -> Iterator[PromptPiece]:
    """Put the layers in their order: stable ones first, so that providers can cache them."""
    persona = plan.personas.get(participant.id, "")
    match plan.mode:
        case "advisors" if plan.has_advisors:
            identity = advisors.advisor_identity(plan, participant, visible_messages)
        case "advisors":  # none of them is active: whoever answers is nobody in particular
            persona = identity = ""
        case "directed":
            identity = lesson_identity(plan, participant)
        case _:
            identity = _identity_layer(plan, participant)
    layers: tuple[tuple[Origin, str], ...] = (
        ("persona", persona),
        ("mode", identity),
        ("project", plan.project),
        ("language", _language_layer(plan)),
        ("memory", plan.memories.get(participant.id, "")),
    )
    for origin, layer in layers:
        if text := layer.strip():
            yield PromptPiece("system", origin, Text(text))


def _ensure_user_ends(pieces: list[PromptPiece]) -> list[PromptPiece]:
    """See to it that the first and the last word are the user's, as providers want it."""
    if not pieces or pieces[-1].role == "assistant":
        pieces = [*pieces, PromptPiece("user", "filler", Text(load_template("your_turn")))]
    if pieces[0].role == "assistant":
        pieces = [PromptPiece("user", "filler", Text(load_template("not_shown"))), *pieces]
    return pieces


def _message_pieces(
    plan: RunPlan, message: Message, participant: Participant, attachments: AttachmentsByMessage
) -> list[PromptPiece]:
    """Give people's words and one's own as they are, and those of the others under their names."""
    if message.participant == participant.id:
        if plan.mode == "directed":
            return own_turn_pieces(message)
        return [PromptPiece("assistant", "own", Text(message.content), message.name, message.id)]
    if message.role == "user":
        origin: Origin = "instruction" if message.hidden else "message"
        words = PromptPiece("user", origin, Text(message.content), None, message.id)
        return [*attachment_pieces(attachments, message.id), words]
    said = "summed up for the table" if message.role == "synthesis" and message.name else "said"
    cut_off = "" if message.status == "completed" else ", and was cut off"
    text = Text(f"{message.name or 'The table'} {said}{cut_off}:\n\n{message.content}")
    return [PromptPiece("user", "message", text, message.name, message.id)]


def _identity_layer(plan: RunPlan, participant: Participant) -> str:
    """Say who one is and who else is there, unless one is alone, or is to feel so."""
    present = [other for other in plan.participants if other.id != participant.id]
    answering = [other for other in plan.responding_participants if other.id != participant.id]
    if not present or not plan.introduced:
        return ""
    name = IDENTITY_TEMPLATES[plan.mode] if answering else "called_upon"
    others = present if name == "called_upon" else answering
    return load_template(name).format(
        name=participant.name, others=join_names([other.name for other in others])
    )


def _language_layer(plan: RunPlan) -> str:
    return load_template("language").format(language=language_name(plan.language)) if plan.language else ""
