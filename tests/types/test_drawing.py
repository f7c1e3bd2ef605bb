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
def test_colour_accepts_hexadecimal_and_plain_names(colour: str) -> None:
    assert msgspec.convert(colour, Colour) == colour


@pytest.mark.parametrize("colour", INVALID_COLOURS)
def test_colour_rejects_other_text(colour: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(colour, Colour)


@pytest.mark.parametrize("id", ["", "a b", '"><script>', "a\n", "-a", "a" * 41, "a\0"])
def test_element_id_rejects_special_characters(id: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(id, ElementId)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 3001, -2001])
def test_coordinate_rejects_non_finite_and_distant_numbers(number: float) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "wb_draw_text", "content": "a", "x": number, "y": 0}, DrawText)


@pytest.mark.parametrize("text", ["\0", "\ud800", "x" * 4001, ""])
def test_board_text_rejects_empty_too_long_and_unstorable_text(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "wb_draw_text", "content": text, "x": 0, "y": 0}, DrawText)


def test_edit_code_requires_line_id() -> None:
    with pytest.raises(ValueError, match="insert_after needs lineId"):
        EditCode(element_id="code-1", operation="insert_after", content="x")


def test_draw_code_rejects_too_many_lines() -> None:
    with pytest.raises(ValueError, match="more than 200 lines"):
        DrawCode(code="\n" * 201, x=0, y=0)
