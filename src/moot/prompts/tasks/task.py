"""Questions about what was said: what a model is to find out, in which form, and what becomes of its answer."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from moot.prompts.templates import load_template
from moot.types.discussions import Message
from moot.types.events import AnalysisResult
from moot.types.requests import ModelRequest, user_message

MAX_ANSWER_TOKENS = 4000
MAX_ATTEMPTS = 2  # of what has not the form that is needed


class AnalysisTask(Struct, frozen=True, kw_only=True):
    """`found` turns an answer of the type `answer` into what is told of it; `check` says what is wrong with one.

    `basis` names all that the answer rests on, so that the same is not asked twice. It is asked `asks` times at most,
    where what comes has not the form that is needed.
    """

    cache_key: str
    request: ModelRequest
    answer_type: type[Any]
    to_result: Callable[[Any], AnalysisResult]
    check: Callable[[Any], str | None]
    max_attempts: int = MAX_ATTEMPTS


BuildTask = Callable[
    [Sequence[Message], str, int], AnalysisTask
]  # of what was said in a run, in so many characters


def analysis_request(template: str, material: str) -> ModelRequest:
    return ModelRequest(
        model="",
        system=load_template(template),
        messages=(user_message(material),),
        max_tokens=MAX_ANSWER_TOKENS,
    )


def make_cache_key(*parts: str) -> str:
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def accept_any_answer(_: object) -> str | None:
    """Find nothing wrong with an answer that has the right form."""
    return None
