import msgspec
import pytest

from moot.model.texts import Label, ModelName, Name, Title


@pytest.mark.parametrize("text", ["A", "Plain words", "Größe", "two  blanks", "x" * 60])
def test_a_name_is_one_line_with_nothing_around_it(text: str) -> None:
    assert msgspec.convert(text, Name) == text


@pytest.mark.parametrize("text", ["", " ", " A", "A ", "A\n", "A\nB", "A\0B", "x" * 61])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Name)


@pytest.mark.parametrize("text", ["", " ", "\n", "A\0", "x" * 201])
def test_a_title_shows_something(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, Title)


def test_text_may_be_empty_but_has_no_nul_in_it() -> None:
    assert msgspec.convert("", Label) == ""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert("a\0b", Label)


@pytest.mark.parametrize("text", ["openai/gpt-5", "openrouter/vendor/model:free", "scripted/echo"])
def test_a_model_is_written_with_its_provider(text: str) -> None:
    assert msgspec.convert(text, ModelName) == text


@pytest.mark.parametrize("text", ["", "gpt-5", "/gpt-5", "openai/", "open ai/gpt", "a/b c", "a/b\n"])
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(text, ModelName)
