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
    return ": ".join(explain_validation_error(str(caught.value), Body))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"participants": [{"model": "a/b", "effort": "deep"}]},
            "participants[0].effort: Invalid enum value 'deep'. Use one of high, low.",
        ),
        (
            {"participants": [{"model": "gpt"}]},
            "participants[0].model: Write provider/model, such as ollama/llama3.2.",
        ),
        ({"participants": [{}]}, "participants[0].model: It is missing."),
        (
            {"participants": [{"model": "a/b", "hue": 1}]},
            "participants[0].hue: There is no such field; known are model, effort.",
        ),
        ({"hue": 1}, "hue: There is no such field; known are name, words, participants, rounds, heat, colour."),
        ({"participants": [1]}, "participants[0]: Expected `str | object`, got `int`."),
        ({"participants": []}, "participants: Expected `array` of length >= 1."),
        ({"words": "x" * 10_001}, "words: Expected `str` of length <= 10000."),
        ({"rounds": "x"}, "rounds: Expected `int | null`, got `str`."),
        ({"rounds": 11}, "rounds: Expected `int` <= 10."),
        ({"colour": "red"}, "colour: Write a colour as #rrggbb, such as #4a7c59."),
        ({"name": " Ada"}, "name: It must be one line, with no space at its ends."),
        ([], ": Expected `object`, got `array`."),
    ],
    ids=str,
)
def test_validation_error_names_field_and_problem(body: Any, words: str) -> None:
    assert explain_rejection(body) == words


def test_invalid_date_error_shows_expected_format() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert("yesterday", date)
    assert explain_validation_error(str(caught.value), date, "since") == ("since", "Write a day as 2026-11-15.")


def test_unknown_validation_message_is_unchanged() -> None:
    assert explain_validation_error("Write a description, or a prompt.", Body) == (
        "",
        "Write a description, or a prompt.",
    )
