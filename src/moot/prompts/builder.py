"""Builder of the model request for one turn: system prompt layers and visible messages.

Pure: the same plan and messages return the same request. So the prompt of an old turn can be rebuilt later.
"""

from collections.abc import Iterator, Sequence

from moot.prompts import advisors
from moot.prompts.language import language_name
from moot.prompts.lesson import lesson_identity, own_turn_pieces
from moot.prompts.library import load_template
from moot.prompts.parts import (
    AttachmentsByMessage,
    Origin,
    PromptPiece,
    attachment_pieces,
    group_into_messages,
    system_text,
)
from moot.prompts.tokens import join_names
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import Participant
from moot.types.requests import ModelRequest
from moot.types.run_plan import RunPlan


def build_model_request(
    plan: RunPlan,
    participant: Participant,
    visible_messages: Sequence[Message],
    instruction: str = "",
    attachments: AttachmentsByMessage | None = None,
) -> ModelRequest:
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
    """Return the pieces in request order: system prompt layers first, then messages."""
    system = list(_system_layers(plan, participant, visible_messages))
    if plan.has_advisors:
        pieces = advisors.advisor_thread(
            plan, participant, visible_messages, instruction, attachments or {}, system_text(system)
        )
    else:
        pieces = [
            one
            for message in visible_messages
            for one in _message_pieces(plan, message, participant, attachments or {})
        ]
        if instruction:
            pieces.append(PromptPiece("user", "instructions", Text(instruction)))
    return system + _ensure_user_ends(pieces)


def _system_layers(
    plan: RunPlan, participant: Participant, visible_messages: Sequence[Message]
) -> Iterator[PromptPiece]:
    """Yield stable layers first, so that the provider can cache the prompt prefix."""
    persona = plan.personas.get(participant.id, "")
    match plan.spec.identity:
        case "advisor" if plan.has_advisors:
            identity = advisors.advisor_identity(plan, participant, visible_messages)
        case "advisor":  # no active advisor: the first participant answers, without a persona
            persona = identity = ""
        case "in_lesson":
            identity = lesson_identity(plan, participant)
        case _:
            identity = _identity_layer(plan, participant)
    language = load_template("language").format(language=language_name(plan.language)) if plan.language else ""
    layers: tuple[tuple[Origin, str], ...] = (
        ("persona", persona),
        ("mode", identity),
        ("project", plan.project),
        ("language", language),
        ("memory", plan.memories.get(participant.id, "")),
    )
    for origin, layer in layers:
        if text := layer.strip():
            yield PromptPiece("system", origin, Text(text))


def _ensure_user_ends(pieces: list[PromptPiece]) -> list[PromptPiece]:
    """Some providers reject a request whose first or last message is not from the user."""
    if not pieces or pieces[-1].role == "assistant":
        pieces = [*pieces, PromptPiece("user", "filler", Text(load_template("your_turn")))]
    if pieces[0].role == "assistant":
        pieces = [PromptPiece("user", "filler", Text(load_template("not_shown"))), *pieces]
    return pieces


def _message_pieces(
    plan: RunPlan, message: Message, participant: Participant, attachments: AttachmentsByMessage
) -> list[PromptPiece]:
    """Keep messages of the user and of the participant itself; label those of others with their names."""
    if message.participant == participant.id:
        if plan.spec.has_whiteboard:
            return own_turn_pieces(message)
        return [PromptPiece("assistant", "own", Text(message.content), message.name, message.id)]
    if message.role == "user":
        origin: Origin = "instructions" if message.hidden else "message"
        words = PromptPiece("user", origin, Text(message.content), None, message.id)
        return [*attachment_pieces(attachments, message.id), words]
    verb = "summed up for the table" if message.role == "synthesis" and message.name else "said"
    cut_off = "" if message.status == "completed" else ", and was cut off"
    text = Text(f"{message.name or 'The table'} {verb}{cut_off}:\n\n{message.content}")
    return [PromptPiece("user", "message", text, message.name, message.id)]


def _identity_layer(plan: RunPlan, participant: Participant) -> str:
    """Return an empty string if the participant is alone, or if the plan hides the others."""
    present = [other for other in plan.participants if other.id != participant.id]
    answering = [other for other in plan.responding_participants if other.id != participant.id]
    if not present or not plan.knows_others:
        return ""
    name = plan.spec.identity if answering else "called_upon"
    others = present if name == "called_upon" else answering
    return load_template(name).format(name=participant.name, others=join_names([other.name for other in others]))
