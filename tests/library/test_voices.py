import pytest

from moot.library.voices import Voice, prompt, seated
from moot.model.errors import NotFound, UsageError


def test_everybody_has_a_name() -> None:
    wanted: list[str | Voice] = [
        "x/a",
        Voice(model="x/b", name="Ada"),
        Voice(model="x/c", persona="sceptic"),
        "x/d",
    ]
    assert [(who.id, who.name, who.model) for who, _ in seated(wanted, None)] == [
        ("alpha", "Alpha", "x/a"),
        ("ada", "Ada", "x/b"),
        ("sceptic", "Sceptic", "x/c"),
        ("delta", "Delta", "x/d"),
    ]


def test_no_two_have_the_same() -> None:
    with pytest.raises(UsageError, match="Two are called 'Ada'"):
        seated([Voice(model="x/a", name="Ada")] * 2, None)


def test_in_a_lesson_the_first_teaches_unless_it_is_said_otherwise() -> None:
    wanted: list[str | Voice] = ["x/a", "x/b", Voice(model="x/c", role="assistant")]
    assert [who.role for who, _ in seated(wanted, "directed")] == ["teacher", "student", "assistant"]


def test_a_voice_is_told_who_it_is_and_what_all_are_told() -> None:
    assert prompt(Voice(model="x/a", prompt="Be Ada."), "Be brief.") == "Be Ada.\n\nBe brief."
    assert prompt(Voice(model="x/a", persona="Sceptic"), "").strip()
    with pytest.raises(NotFound, match="Sceptic"):
        prompt(Voice(model="x/a", persona="nobody"), "")
