from hypothesis import given
from hypothesis import strategies as st

from moot.whiteboard.geometry import Box
from moot.whiteboard.render.text import (
    LEADING,
    character_cells,
    fit_text,
    render_code_text,
    render_placeholder,
    render_text_line,
    text_width,
    truncate_text,
    wrap_text,
)
from tests.support.whiteboard_strategies import TEXTS
from tests.whiteboard.markup_parsing import parse_markup

LONG_TEXT = "All that is said at length can be said in brief, and most of it need not be said at all."


def test_wrap_text_breaks_at_spaces() -> None:
    assert list(wrap_text("one two three", text_width("one two", 16) + 1, 16)) == ["one two", "three"]


def test_wrap_text_keeps_line_breaks() -> None:
    assert list(wrap_text("one\n\ntwo", 1000, 16)) == ["one", "", "two"]


def test_wrap_text_breaks_overlong_word() -> None:
    lines = list(wrap_text("x" * 50, 100, 16))
    assert "".join(lines) == "x" * 50
    assert all(text_width(line, 16) <= 100 for line in lines)


def test_wrap_text_breaks_between_cjk_characters() -> None:
    assert list(wrap_text("白板上的字", 32, 16)) == ["白板", "上的", "字"]


def test_fit_text_keeps_size_when_text_fits() -> None:
    assert fit_text("Hello", 100, 30, 18) == (("Hello",), 18)


def test_fit_text_reduces_font_size() -> None:
    small = fit_text(LONG_TEXT, 200, 100, 24)
    assert small.size < 24
    assert " ".join(small.lines) == LONG_TEXT
    assert len(small.lines) * small.size * LEADING <= 100


def test_fit_text_truncates_at_min_font_size() -> None:
    cut = fit_text(LONG_TEXT * 20, 100, 40, 24)
    assert cut.size == 8
    assert cut.lines[-1].endswith("…")


def test_truncate_text_fits_width() -> None:
    cut = truncate_text("Hello world", 50, 16)
    assert cut.endswith("…")
    assert text_width(cut, 16) <= 50
    assert truncate_text("Hello", 100, 16) == "Hello"


def test_render_text_line_keeps_leading_spaces() -> None:
    assert render_text_line("  a b", 0, 0, 10, fill="red") == (
        '<text x="0" y="0" font-size="10" fill="red">\u00a0\u00a0a b</text>'
    )


def test_render_code_text_places_each_character_in_cell() -> None:
    assert render_code_text("a 字", 0, 12, 10, fill="red") == (
        '<text x="3.01 9.03 18.06" y="12" font-size="10" fill="red">a\u00a0字</text>'
    )
    assert (character_cells("a"), character_cells("字")) == (1, 2)


@given(TEXTS, st.floats(1, 500), st.floats(1, 300), st.floats(8, 120))
def test_fit_text_stays_within_height(text: str, across: float, down: float, size: float) -> None:
    result = fit_text(text, across, down, size)
    assert len(result.lines) == 1 or len(result.lines) * result.size * LEADING <= down + 0.01


def test_placeholder_shows_reason_above_source() -> None:
    tree = parse_markup(render_placeholder(Box(0, 0, 300, 100), "It is <no> formula.", "{x"))
    assert [node.text for node in tree.iter("text")] == ["It is <no> formula.", "{x"]


def test_placeholder_truncates_long_source() -> None:
    assert len(render_placeholder(Box(0, 0, 300, 100), "No.", "x" * 100_000)) < 4000
