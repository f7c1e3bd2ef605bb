import pytest
from ziafont.font import Font

from moot.types.errors import FeatureUnavailable
from moot.whiteboard.render.fonts import MATH_FONT, SANS_FONT, CharacterWidths, font_path, sans_widths


def test_both_fonts_are_there() -> None:
    for which in (SANS_FONT, MATH_FONT):
        assert font_path(*which).is_file()


def test_a_font_that_nothing_brings_is_told() -> None:
    with pytest.raises(
        FeatureUnavailable, match=r"Comic.ttf comes with no_such_fonts, which is not installed"
    ):
        font_path("no_such_fonts", "Comic.ttf")


def test_widths_are_those_of_the_font() -> None:
    font = Font()
    for char in "aMi .é€→中😀":
        glyph = font.glyph_fromid(font.glyphindex(char))
        assert sans_widths().character_width(char) == pytest.approx(
            glyph.advance() / font.info.layout.unitsperem
        )


def test_an_m_is_wider_than_an_i() -> None:
    assert sans_widths().character_width("m") > 2 * sans_widths().character_width("i")


def test_what_is_no_font_is_not_read() -> None:
    with pytest.raises(KeyError):
        CharacterWidths(b"\0" * 100)
