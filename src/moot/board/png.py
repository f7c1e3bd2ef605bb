"""The board as PNG: the same bytes for the same board, since only fonts that come along are used."""

from moot.board.canvas import HEIGHT
from moot.board.fonts import MATHS, SANS, font
from moot.board.replay import Board
from moot.board.svg import svg
from moot.board.typewriter import typed

ZOOM = 1.5
SANS_SERIF, TYPEWRITER = "DejaVu Sans", "STIX Two Math"


def png(board: Board, zoom: float = ZOOM, height: float = HEIGHT) -> bytes:
    """Paint a board, or as much of it as is above a height. A character that the fonts lack becomes an empty box."""
    from resvg_py import svg_to_bytes  # noqa: PLC0415 - a native library, which only pictures need

    return svg_to_bytes(
        svg_string=typed(svg(board, height)),
        zoom=zoom,
        skip_system_fonts=True,
        font_files=[str(font(*SANS)), str(font(*MATHS))],
        font_family=SANS_SERIF,
        sans_serif_family=SANS_SERIF,
        monospace_family=TYPEWRITER,
    )
