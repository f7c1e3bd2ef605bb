import pytest
from ziafont.font import Font

from moot.types.errors import Unavailable
from moot.whiteboard.render.fonts import MATHS, SANS, Widths, font, sans


def test_both_fonts_are_there() -> None:
    for which in (SANS, MATHS):
        assert font(*which).is_file()


def test_a_font_that_nothing_brings_is_told() -> None:
    with pytest.raises(Unavailable, match=r"Comic.ttf comes with no_such_fonts, which is not installed"):
        font("no_such_fonts", "Comic.ttf")


def test_widths_are_those_of_the_font() -> None:
    font = Font()
    for char in "aMi .é€→中😀":
        glyph = font.glyph_fromid(font.glyphindex(char))
        assert sans().of(char) == pytest.approx(glyph.advance() / font.info.layout.unitsperem)


def test_an_m_is_wider_than_an_i() -> None:
    assert sans().of("m") > 2 * sans().of("i")


def test_what_is_no_font_is_not_read() -> None:
    with pytest.raises(KeyError):
        Widths(b"\0" * 100)
