"""AnalysisTask: a model request about a discussion, with answer type, validation and cache key."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any

from msgspec import Struct

from moot.prompts.library import load_template
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.events import AnalysisResult
from moot.types.requests import ModelRequest, user_message

MAX_ANSWER_TOKENS = 4000
MAX_ATTEMPTS = 2  # requests per task, if the response is invalid


class AnalysisTask(Struct, frozen=True, kw_only=True):
    cache_key: str  # hash of all input; a stored result with the same key is reused
    request: ModelRequest
    answer_type: type[Any]  # struct type; its JSON schema is sent with the request
    to_result: Callable[[Any], AnalysisResult]  # converts an answer to an event
    check: Callable[[Any], str | None]  # returns an error message for the model, or None if the answer is valid
    max_attempts: int = MAX_ATTEMPTS


BuildTask = Callable[[Sequence[Message], str, int], AnalysisTask]  # arguments: messages, run id, character limit


def task_request(template: str, *parts: Text | str, max_tokens: int = MAX_ANSWER_TOKENS) -> ModelRequest:
    """Return a request with a template as its system prompt. The caller sets the model."""
    return ModelRequest(
        model="", system=load_template(template), messages=(user_message(*parts),), max_tokens=max_tokens
    )


def make_cache_key(*parts: str) -> str:
    """The first part names the task. It keeps its first word (such as `ballot` for a vote), because keys are stored."""
    return sha256("\0".join(parts).encode()).hexdigest()[:24]


def accept_any_answer(_: object) -> str | None:
    """For tasks whose answer type needs no further validation."""
    return None
