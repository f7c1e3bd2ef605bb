import pytest
from ziafont.font import Font

from moot.board.widths import Widths, sans


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
