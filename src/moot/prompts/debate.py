"""What is told in a debate: to each what the others answered, and to the lead what all of them did."""

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.templates import load_template
from moot.prompts.tokens import fit_texts
from moot.types.debate import LANE_STAGES
from moot.types.discussions import Message
from moot.types.events import ANSWERED_STATUSES

BLOCK_SEPARATOR = "\n\n"


class Position(Struct, frozen=True):
    """What somebody answered alone, and after reading the others; the same message if it went no further."""

    first: Message
    final: Message

    @property
    def participant(self) -> str:
        return self.first.participant or ""

    @property
    def name(self) -> str:
        return self.first.name or self.participant


def debate_positions(messages: Sequence[Message], run: str) -> list[Position]:
    """List those who answered in a run, by their ids; errors are no answers."""
    found: dict[str, Position] = {}
    for stage in LANE_STAGES:
        for message in map(_use_details_if_empty, messages):
            if message.run == run and message.stage == stage and _is_answer(message):
                who = message.participant or ""
                found[who] = Position(found[who].first if who in found else message, message)
    return [found[who] for who in sorted(found)]


def rebuttal_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:
    """Hand somebody the question and what every other one answered."""
    others = [one.first for one in debate_positions(messages, run) if one.participant != participant]
    return load_template("read_the_others").format(
        question=user_question(messages, run), answers=_render_answers(others, max_chars)
    )


def synthesis_instructions(messages: Sequence[Message], run: str, participant: str, max_chars: int) -> str:  # noqa: ARG001 - a Brief
    """Ask for one answer from all of them, one's own included."""
    finals = [one.final for one in debate_positions(messages, run)]
    return load_template("sum_up").format(answers=_render_answers(finals, max_chars))


def user_question(messages: Sequence[Message], run: str) -> str:
    asked = (m.content for m in messages if m.run == run and m.role == "user" and not m.hidden)
    return next(asked, "")


def label_positions(messages: Sequence[Message], run: str) -> dict[str, Position]:
    """Give those who answered labels by which a model can name them, and nobody else."""
    return {f"p{place}": one for place, one in enumerate(debate_positions(messages, run), start=1)}


def debate_material(
    all_messages: Sequence[Message], run: str, answers: Mapping[str, Sequence[Message]], max_chars: int
) -> str:
    """Write out the question and who answered what, first and then; the same text is not written twice."""
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
    """Take what was folded away for the answer where there is nothing else."""
    return message if message.content.strip() else replace(message, content=message.details)


def _is_answer(message: Message) -> bool:
    said = message.status in ANSWERED_STATUSES and message.content.strip() != ""
    return said and message.role == "assistant" and message.participant is not None
