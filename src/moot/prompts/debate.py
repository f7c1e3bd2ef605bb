"""What is told in a debate: to each what the others answered, and to the lead what all of them did."""

from collections.abc import Mapping, Sequence
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.templates import written
from moot.prompts.tokens import fitted
from moot.types.debate import IN_LANES
from moot.types.discussions import Message
from moot.types.events import ANSWERED

BETWEEN = "\n\n"


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


def positions(said: Sequence[Message], run: str) -> list[Position]:
    """List those who answered in a run, by their ids; errors are no answers."""
    found: dict[str, Position] = {}
    for stage in IN_LANES:
        for message in map(_unfolded, said):
            if message.run == run and message.stage == stage and _is_answer(message):
                who = message.participant or ""
                found[who] = Position(found[who].first if who in found else message, message)
    return [found[who] for who in sorted(found)]


def read_the_others(said: Sequence[Message], run: str, participant: str, room: int) -> str:
    """Hand somebody the question and what every other one answered."""
    others = [one.first for one in positions(said, run) if one.participant != participant]
    return written("read_the_others").format(question=question(said, run), answers=_written_out(others, room))


def sum_up(said: Sequence[Message], run: str, participant: str, room: int) -> str:  # noqa: ARG001 - a Brief
    """Ask for one answer from all of them, one's own included."""
    finals = [one.final for one in positions(said, run)]
    return written("sum_up").format(answers=_written_out(finals, room))


def question(said: Sequence[Message], run: str) -> str:
    asked = (m.content for m in said if m.run == run and m.role == "user" and not m.hidden)
    return next(asked, "")


def labelled(said: Sequence[Message], run: str) -> dict[str, Position]:
    """Give those who answered labels by which a model can name them, and nobody else."""
    return {f"p{place}": one for place, one in enumerate(positions(said, run), start=1)}


def material(said: Sequence[Message], run: str, answers: Mapping[str, Sequence[Message]], room: int) -> str:
    """Write out the question and who answered what, first and then; the same text is not written twice."""
    blocks: list[tuple[str, str]] = []
    for label, messages in answers.items():
        for message in dict.fromkeys(messages):
            when = "after reading the others" if message.stage == "debate" else "first answer"
            blocks.append((f"### {label}: {message.name}, {when}", message.content.strip()))
    texts = fitted([text for _, text in blocks], room)
    written_out = (f"{head}\n{text}" for (head, _), text in zip(blocks, texts, strict=True))
    return BETWEEN.join([f"The question:\n{question(said, run)}", *written_out])


def _written_out(answers: Sequence[Message], room: int) -> str:
    texts = fitted([one.content.strip() for one in answers], room)
    blocks = zip(map(_heading, answers), texts, strict=True)
    return BETWEEN.join(chain.from_iterable(blocks))


def _heading(message: Message) -> str:
    cut_off = " (cut off)" if message.status != "completed" else ""
    return f"### {message.name}{cut_off}"


def _unfolded(message: Message) -> Message:
    """Take what was folded away for the answer where there is nothing else."""
    return message if message.content.strip() else replace(message, content=message.details)


def _is_answer(message: Message) -> bool:
    said = message.status in ANSWERED and message.content.strip() != ""
    return said and message.role == "assistant" and message.participant is not None
