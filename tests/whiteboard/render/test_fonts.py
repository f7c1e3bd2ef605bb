import pytest
from ziafont.font import Font

from moot.types.errors import FeatureUnavailable
from moot.whiteboard.render.fonts import MATH_FONT, SANS_FONT, CharacterWidths, font_path, sans_widths


def test_both_fonts_are_installed() -> None:
    for which in (SANS_FONT, MATH_FONT):
        assert font_path(*which).is_file()


def test_font_path_rejects_missing_font() -> None:
    with pytest.raises(FeatureUnavailable, match=r"Comic.ttf is part of no_such_fonts, which is not installed"):
        font_path("no_such_fonts", "Comic.ttf")


def test_character_widths_match_font() -> None:
    font = Font()
    for char in "aMi .é€→中😀":
        glyph = font.glyph_fromid(font.glyphindex(char))
        assert sans_widths().character_width(char) == pytest.approx(glyph.advance() / font.info.layout.unitsperem)


def test_m_is_wider_than_i() -> None:
    assert sans_widths().character_width("m") > 2 * sans_widths().character_width("i")


def test_character_widths_reject_invalid_font() -> None:
    with pytest.raises(KeyError):
        CharacterWidths(b"\0" * 100)
