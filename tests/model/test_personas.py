from typing import Any

import msgspec
import pytest

from moot.model.personas import PersonaChange, PersonaDraft, level


@pytest.mark.parametrize(("uses", "reached"), [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3), (1000, 101)])
def test_ten_uses_are_a_level(uses: int, reached: int) -> None:
    assert level(uses) == reached


@pytest.mark.parametrize(
    "said",
    [{"description": "Doubts."}, {"system_prompt": "Doubt."}, {"description": "a", "colour": "#AbCdEf"}],
)
def test_a_persona_says_what_it_is(said: dict[str, Any]) -> None:
    assert msgspec.convert({"name": "Sceptic", **said}, PersonaDraft).name == "Sceptic"


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("system_prompt", {"name": "Sceptic", "description": "  "}),
        ("name", {"description": "Doubts."}),
        ("name", {"name": "", "description": "Doubts."}),
        ("description", {"name": "Sceptic", "description": "x" * 4001}),
        ("traits", {"name": "Sceptic", "description": "Doubts.", "traits": ["a"] * 21}),
        ("traits", {"name": "Sceptic", "description": "Doubts.", "traits": ["x" * 61]}),
        ("colour", {"name": "Sceptic", "description": "Doubts.", "colour": "red"}),
        ("colour", {"name": "Sceptic", "description": "Doubts.", "colour": "#ffffff\n"}),
        ("uses", {"name": "Sceptic", "description": "Doubts.", "uses": 1000}),
    ],
)
def test_a_refusal_names_the_field(field: str, said: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(said, PersonaDraft)


def test_a_change_holds_only_what_was_said() -> None:
    change = msgspec.json.decode(b'{"colour": ""}', type=PersonaChange)
    assert msgspec.to_builtins(change) == {"colour": ""}
