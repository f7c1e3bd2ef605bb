"""Questions about what was said: what a model is to find out, in which form, and what becomes of its answer."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from moot.prompts.templates import written
from moot.types.discussions import Message
from moot.types.events import Finding
from moot.types.requests import ModelRequest, user

MOST_TOKENS = 4000
ASKS = 2  # of what has not the form that is needed


class Inquiry(Struct, frozen=True, kw_only=True):
    """`found` turns an answer of the type `answer` into what is told of it; `check` says what is wrong with one.

    `basis` names all that the answer rests on, so that the same is not asked twice. It is asked `asks` times at most,
    where what comes has not the form that is needed.
    """

    basis: str
    request: ModelRequest
    answer: type[Any]
    found: Callable[[Any], Finding]
    check: Callable[[Any], str | None]
    asks: int = ASKS


Ask = Callable[[Sequence[Message], str, int], Inquiry]  # of what was said in a run, in so many characters


def requested(prompt: str, material: str) -> ModelRequest:
    return ModelRequest(
        model="",
        system=written(prompt),
        messages=(user(material),),
        max_tokens=MOST_TOKENS,
    )


def basis(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def anything(_: object) -> str | None:
    """Find nothing wrong with an answer that has the right form."""
    return None
