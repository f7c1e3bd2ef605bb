"""Prompts of a debate: rebuttal instructions, synthesis instructions, and material for analyses."""

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.library import load_template
from moot.prompts.tokens import fit_texts
from moot.types.debate import LANE_STAGES
from moot.types.discussions import Message
from moot.types.events import ANSWERED_STATUSES

BLOCK_SEPARATOR = "\n\n"


class Position(Struct, frozen=True):
    """The answers of one participant. Without a rebuttal, both fields hold the same message."""

    first: Message
    final: Message

    @property
    def participant(self) -> str:
        return self.first.participant or ""

    @property
    def name(self) -> str:
        return self.first.name or self.participant


def debate_positions(messages: Sequence[Message], run: str) -> list[Position]:
    """Positions in a run, sorted by participant id. Failed turns do not count."""
    found: dict[str, Position] = {}
    for stage in LANE_STAGES:
        for message in map(_use_details_if_empty, messages):
            if message.run == run and message.stage == stage and _is_answer(message):
                who = message.participant or ""
                found[who] = Position(found[who].first if who in found else message, message)
    return [found[who] for who in sorted(found)]


def rebuttal_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:
    """The question, and the first answers of all other participants."""
    others = [one.first for one in debate_positions(messages, run) if one.participant != participant]
    return load_template("rebuttal").format(
        question=user_question(messages, run), answers=_render_answers(others, max_chars)
    )


def synthesis_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:  # noqa: ARG001 - shared signature
    """Ask for a synthesis of all final answers, including the participant's own."""
    finals = [one.final for one in debate_positions(messages, run)]
    return load_template("synthesis").format(answers=_render_answers(finals, max_chars))


def user_question(messages: Sequence[Message], run: str) -> str:
    questions = (m.content for m in messages if m.run == run and m.role == "user" and not m.hidden)
    return next(questions, "")


def label_positions(messages: Sequence[Message], run: str) -> dict[str, Position]:
    """Key positions by short labels (p1, p2), so that a model can only name a real participant."""
    return {f"p{place}": one for place, one in enumerate(debate_positions(messages, run), start=1)}


def debate_material(
    all_messages: Sequence[Message], run: str, answers: Mapping[str, Sequence[Message]], max_chars: int
) -> str:
    """Render the question and the labelled answers, without duplicates. `answers`: label -> messages."""
    blocks: list[tuple[str, str]] = []
    for label, messages in answers.items():
        for message in dict.fromkeys(messages):
            when = "after reading the others" if message.stage == "debate" else "first answer"
            blocks.append((f"### {label}: {message.name}, {when}", message.content.strip()))
    texts = fit_texts([text for _, text in blocks], max_chars)
    written_out = (f"{head}\n{text}" for (head, _), text in zip(blocks, texts, strict=True))
    return BLOCK_SEPARATOR.join([f"The question:\n{user_question(all_messages, run)}", *written_out])


def _render_answers(answers: Sequence[Message], max_chars: int) -> str:
    texts = fit_texts([one.content.strip() for one in answers], max_chars)
    blocks = zip(map(_answer_heading, answers), texts, strict=True)
    return BLOCK_SEPARATOR.join(chain.from_iterable(blocks))


def _answer_heading(message: Message) -> str:
    cut_off = " (cut off)" if message.status != "completed" else ""
    return f"### {message.name}{cut_off}"


def _use_details_if_empty(message: Message) -> Message:
    """Use the `<details>` content as the answer if the message has no other text."""
    return message if message.content.strip() else replace(message, content=message.details)


def _is_answer(message: Message) -> bool:
    has_text = message.status in ANSWERED_STATUSES and message.content.strip() != ""
    return has_text and message.role == "assistant" and message.participant is not None
