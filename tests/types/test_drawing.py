import msgspec
import pytest

from moot.types.drawing import Colour, DrawCode, DrawText, EditCode, ElementId

INVALID_COLOURS = [
    "url(#a)",
    "#12345",
    "#ggg",
    "red;",
    'red" onload="x',
    "#fff\n",
    "RGB(1,2,3)",
    "",
    "javascript:0",
    "redgreen",
]


@pytest.mark.parametrize("colour", ["#fff", "#A1b2C3", "red", "transparent"])
def test_a_colour_is_written_in_hexadecimal_or_by_a_plain_name(colour: str) -> None:
    assert msgspec.convert(colour, Colour) == colour


@pytest.mark.parametrize("colour", INVALID_COLOURS)
def test_nothing_else_passes_as_a_colour(colour: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(colour, Colour)


@pytest.mark.parametrize("id", ["", "a b", '"><script>', "a\n", "-a", "a" * 41, "a\0"])
def test_an_id_is_one_plain_word(id: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(id, ElementId)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 3001, -2001])
def test_a_place_is_a_number_near_the_canvas(number: float) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "wb_draw_text", "content": "a", "x": number, "y": 0}, DrawText)


@pytest.mark.parametrize("text", ["\0", "\ud800", "x" * 4001, ""])
def test_text_is_bounded_and_can_be_stored(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "wb_draw_text", "content": text, "x": 0, "y": 0}, DrawText)


def test_an_edit_says_which_lines() -> None:
    with pytest.raises(ValueError, match="insert_after needs lineId"):
        EditCode(element_id="code-1", operation="insert_after", content="x")


def test_code_has_no_more_lines_than_can_be_read() -> None:
    with pytest.raises(ValueError, match="more than 200 lines"):
        DrawCode(code="\n" * 201, x=0, y=0)
