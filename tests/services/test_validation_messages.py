from datetime import date
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from moot.services.validation_messages import explain_validation_error
from moot.types.personas import Colour
from moot.types.primitives import ModelName, Name


class ParticipantBody(Struct, forbid_unknown_fields=True):
    model: ModelName
    effort: Literal["low", "high"] | None = None


class Body(Struct, forbid_unknown_fields=True):
    name: Name = "Ada"
    words: Annotated[str, Meta(min_length=1, max_length=10_000)] = "x"
    participants: Annotated[list[str | ParticipantBody], Meta(min_length=1, max_length=2)] = []
    rounds: Annotated[int, Meta(ge=1, le=10)] | None = None
    heat: Annotated[float, Meta(le=2)] = 1.0
    colour: Colour = ""


def explain_rejection(body: Any) -> str:
    """Return the explanation of the error that msgspec raises for a body."""
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(body, Body)
    message, _, place = str(caught.value).partition(" - at `$")
    return explain_validation_error(message, Body, place.strip("`."))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"participants": [{"model": "a/b", "effort": "deep"}]}, "'deep' is none of high, low."),
        ({"participants": [{"model": "a/b", "effort": 3}]}, "It must be one of high, low."),
        ({"participants": [{"model": "gpt"}]}, "Write provider/model, such as ollama/llama3.2."),
        ({"participants": [{}]}, "It is missing."),
        ({"participants": [{"model": "a/b", "hue": 1}]}, "There is no such field; known are model, effort."),
        ({"participants": [1]}, "It must be text or an object."),
        ({"participants": []}, "It must not be empty."),
        ({"participants": ["a", "b", "c"]}, "It must have at most 2 entries."),
        ({"words": ""}, "It must not be empty."),
        ({"words": "x" * 10_001}, "It must have at most 10,000 characters."),
        ({"rounds": "x"}, "It must be a whole number."),
        ({"rounds": 0}, "It must be at least 1."),
        ({"rounds": 11}, "It must be at most 10."),
        ({"heat": 2.5}, "It must be at most 2.0."),
        ({"colour": "red"}, "Write a colour as #rrggbb, such as #4a7c59."),
        ({"name": " Ada"}, "It must be one line, with no space at its ends."),
        ([], "It must be an object."),
    ],
    ids=str,
)
def test_validation_errors_are_explained_in_plain_words(body: Any, words: str) -> None:
    assert explain_rejection(body) == words


def test_invalid_date_error_shows_expected_format() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert("yesterday", date)
    assert explain_validation_error(str(caught.value), date) == "Write a day as 2026-11-15."


def test_unknown_validation_message_is_unchanged() -> None:
    assert explain_validation_error("write a description, or a prompt", Body) == "write a description, or a prompt"
