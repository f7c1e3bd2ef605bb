"""The board as PNG, the same to the byte wherever it is made: only fonts that come along are used."""

from functools import cache
from importlib.resources import files

from moot.board.replay import Board
from moot.board.svg import svg
from moot.board.typewriter import typed

ZOOM = 1.5
SANS, MATHS = "DejaVu Sans", "STIX Two Math"


def png(board: Board) -> bytes:
    """Paint a board. A character that the fonts lack becomes an empty box."""
    from resvg_py import svg_to_bytes  # noqa: PLC0415 - a native library, which only pictures need

    return svg_to_bytes(
        svg_string=typed(svg(board)),
        zoom=ZOOM,
        skip_system_fonts=True,
        font_files=_fonts(),
        font_family=SANS,
        sans_serif_family=SANS,
        monospace_family=MATHS,
    )


@cache
def _fonts() -> list[str]:
    sans = files("ziafont") / "fonts" / "DejaVuSans.ttf"
    maths = files("ziamath") / "fonts" / "STIXTwoMath-Regular.ttf"
    return [str(sans), str(maths)]
