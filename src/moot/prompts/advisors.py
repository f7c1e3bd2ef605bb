"""Prompts of advisor mode: a private thread with the user, plus answers of the other advisors.

Pure. If the request exceeds the token limit, the oldest turns are dropped first, then the answers of others.
The system prompt and the current message always stay.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from moot.prompts.library import load_template, render_template
from moot.prompts.parts import AttachmentsByMessage, PromptPiece, attachment_pieces
from moot.prompts.tokens import estimate_part_tokens, estimate_tokens, fit_texts, join_names, one_line
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.events import ANSWERED_STATUSES
from moot.types.participants import Participant
from moot.types.run_plan import RunPlan

MAX_NAME_CHARACTERS = 60
PASS_ANSWERS = frozenset({"pass", "pass."})

TurnPieces = list[PromptPiece]  # the user message and the answer to it


def advisor_identity(plan: RunPlan, participant: Participant, visible_messages: Sequence[Message]) -> str:
    """In its first turns (`question_turns`) an advisor only asks questions. Hidden instructions skip this rule."""
    others = [
        one_line(one.name, MAX_NAME_CHARACTERS) for one in plan.responding_participants if one.id != participant.id
    ]
    values = {"name": one_line(participant.name, MAX_NAME_CHARACTERS), "others": join_names(others)}
    layers = [render_template("advisor", values)]
    if not visible_messages or not visible_messages[-1].hidden:
        now = visible_messages[-1].run if visible_messages else None
        turns = {one.run for one in visible_messages if one.participant == participant.id and one.run != now}
        layers.append(load_template("advisor_asks" if len(turns) < plan.advisors.question_turns else "advisor_engages"))
    return "\n\n".join(layers)


def advisor_thread(
    plan: RunPlan,
    participant: Participant,
    visible_messages: Sequence[Message],
    instruction: str,
    attachments: AttachmentsByMessage,
    system: str,
) -> list[PromptPiece]:
    """Return the pieces that fit into the token limit. `system` is needed only for its size."""
    now = visible_messages[-1].run if visible_messages else None
    others = [one for one in visible_messages if one.participant not in {None, participant.id}]
    mine = [one for one in visible_messages if one.participant in {None, participant.id} and not _is_pass(one)]
    turns = _split_turns([one for one in mine if one.run != now], attachments)
    current = [piece for one in mine if one.run == now for piece in _message_pieces(one, attachments)]
    if instruction:
        current.append(PromptPiece("user", "instructions", Text(instruction)))
    elif not current or current[-1].role == "assistant":
        current.append(PromptPiece("user", "filler", Text(load_template("your_turn"))))
    block = Text(_render_answers("advisor_reference", others)) if any(map(_has_content, others)) else None
    reference = [PromptPiece("user", "reference", block)] if block else []
    rate = plan.limits_for_model(participant.model).characters_per_token
    used = estimate_tokens(system, rate) + _count_tokens([*reference, *current], rate)
    left = advisor_window_tokens(plan, participant) - used
    if left < 0:
        return current
    return [*_newest_turns(turns, left, rate), *reference, *current]


def advisor_window_tokens(plan: RunPlan, participant: Participant) -> int:
    """Token limit of the request: the context window minus the answer, at most `max_prompt_tokens`."""
    measure = plan.limits_for_model(participant.model)
    if measure.context_tokens is None:
        return plan.advisors.max_prompt_tokens
    answer = min(participant.max_tokens or measure.max_answer_tokens, measure.context_tokens // 2)
    return min(plan.advisors.max_prompt_tokens, measure.context_tokens - answer)


def cross_talk_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:
    """Ask for a reply to the other advisors' first answers in this run."""
    others = [one for one in _answers_in_run(messages, run) if one.participant != participant]
    return _render_answers("advisor_cross_talk", [one for one in others if one.stage != "cross_talk"], max_chars)


def advisor_synthesis_instructions(
    messages: Sequence[Message],
    run: str,
    participant: str,  # noqa: ARG001 - the signature of all instruction builders
    max_chars: int,
) -> str:
    """Ask for a synthesis of all answers in this run, including cross-talk."""
    return _render_answers("advisor_synthesis", _answers_in_run(messages, run), max_chars)


def _answers_in_run(messages: Sequence[Message], run: str) -> list[Message]:
    mine = (one for one in messages if one.run == run and one.role == "assistant" and one.status in ANSWERED_STATUSES)
    return sorted(filter(_has_content, mine), key=lambda one: (one.stage == "cross_talk", one.participant or ""))


def _split_turns(thread: Sequence[Message], attachments: AttachmentsByMessage) -> list[TurnPieces]:
    """Each turn starts with a user message. A filler replaces one that is not visible."""
    turns: list[TurnPieces] = []
    for one in thread:
        if one.role == "user":
            turns.append([])
        elif not turns:
            turns.append([PromptPiece("user", "filler", Text(load_template("not_shown")))])
        turns[-1] += _message_pieces(one, attachments)
    return turns


def _newest_turns(turns: Sequence[TurnPieces], tokens_left: int, rate: float) -> list[PromptPiece]:
    first = len(turns)
    while first and (tokens_left := tokens_left - _count_tokens(turns[first - 1], rate)) >= 0:
        first -= 1
    return [piece for turn in turns[first:] for piece in turn]


def _message_pieces(message: Message, attachments: AttachmentsByMessage) -> list[PromptPiece]:
    if message.role != "user":
        return [PromptPiece("assistant", "own", Text(message.content), message.name, message.id)]
    if message.hidden:
        return [PromptPiece("user", "instructions", Text(message.content), None, message.id)]
    at = datetime.fromtimestamp(message.created_at, UTC)
    words = Text(f"[{at:%Y-%m-%d %H:%M}] {message.content}")
    return [*attachment_pieces(attachments, message.id), PromptPiece("user", "message", words, None, message.id)]


def _render_answers(template: str, answers: Sequence[Message], max_chars: int | None = None) -> str:
    """Render each answer under its author's name; `max_chars` None means no limit."""
    spoken = [one for one in answers if _has_content(one)]
    texts = [one.content.strip() for one in spoken]
    blocks = zip(map(_answer_heading, spoken), texts if max_chars is None else fit_texts(texts, max_chars), strict=True)
    return load_template(template).format(answers="\n\n".join(f"{head}\n{text}" for head, text in blocks))


def _answer_heading(message: Message) -> str:
    name = one_line(message.name or message.participant or "", MAX_NAME_CHARACTERS)
    to_others = ", to the others" if message.stage == "cross_talk" else ""
    cut_off = " (cut off)" if message.status != "completed" else ""
    return f"{name}{to_others}{cut_off}:"


def _has_content(message: Message) -> bool:
    return message.content.strip() != "" and not _is_pass(message)


def _is_pass(message: Message) -> bool:
    """True for a "pass" in cross-talk. No later prompt includes it."""
    return message.stage == "cross_talk" and not message.hidden and message.content.strip().lower() in PASS_ANSWERS


def _count_tokens(pieces: Sequence[PromptPiece], rate: float) -> int:
    return estimate_part_tokens((piece.part for piece in pieces), rate)
