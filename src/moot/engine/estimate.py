"""A guess at what a call used where a provider counts nothing, and what those that count teach us for it."""

from collections.abc import Iterable
from math import ceil

from moot.context.tokens import tokens, tokens_of
from moot.model.chunks import Usage
from moot.model.discussions import Message
from moot.model.measures import CHARACTERS_PER_TOKEN, Counted
from moot.model.requests import ModelRequest


def estimate(request: ModelRequest, heard: int, rate: float = CHARACTERS_PER_TOKEN) -> Usage:
    """Guess by the characters that were sent and heard."""
    sent = tokens(request.system, rate) + sum(tokens_of(m.parts, rate) for m in request.messages)
    return Usage(input=sent, output=ceil(heard / rate), estimated=True)


def counted(turns: Iterable[Message]) -> dict[str, Counted]:
    """Add up the words of answers and the tokens that providers counted for them, by model.

    What was sent is left out: providers add much to it that nobody wrote.
    """
    found: dict[str, Counted] = {}
    for turn in turns:
        if turn.model is not None and (one := _counted(turn)) is not None:
            found[turn.model] = found.get(turn.model, Counted()) + one
    return found


def _counted(turn: Message) -> Counted | None:
    """Compare an answer with its count, unless that was guessed, or of more than its words: thoughts, or actions."""
    usage = turn.usage
    if usage is None or usage.estimated or turn.script or (turn.thoughts and not usage.reasoning):
        return None
    one = Counted(len(turn.content) + len(turn.details), usage.output - usage.reasoning)
    return one if one.is_plausible else None
