import pytest

from moot.board.fonts import MATHS, SANS, font
from moot.model.errors import Unavailable


def test_both_fonts_are_there() -> None:
    for which in (SANS, MATHS):
        assert font(*which).is_file()


def test_a_font_that_nothing_brings_is_told() -> None:
    with pytest.raises(Unavailable, match=r"Comic.ttf comes with no_such_fonts, which is not installed"):
        font("no_such_fonts", "Comic.ttf")
