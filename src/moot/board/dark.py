"""The board in the dark: paper is dark grey, and what is drawn changes its lightness and keeps its hue."""

from moot.board.canvas import HEIGHT, WIDTH
from moot.board.markup import tag

DARK_PAPER, DARK_EDGE = "#1c1e21", "#34383d"
INK = "dark-ink"
DARKEST, LIGHTEST = 0.11, 0.93  # what becomes of white and of black
# A turn of the hue by half a circle takes back what turning light into dark does to it.
TURN = ((-0.574, 1.43, 0.144), (0.426, 0.43, 0.144), (0.426, 1.43, -0.856))


def filters() -> str:
    """Write what the drawings of a dark board refer to, to stand before them."""
    span = LIGHTEST - DARKEST
    rows = [[*(-span * share for share in row), 0.0, LIGHTEST] for row in TURN]
    rows.append([0.0, 0.0, 0.0, 1.0, 0.0])
    values = " ".join(f"{value:.3f}" for row in rows for value in row)
    matrix = tag("feColorMatrix", values=values, color_interpolation_filters="sRGB")
    # As large as the board: by its own size, a level line would have no height and not be drawn.
    return tag("filter", matrix, id=INK, filterUnits="userSpaceOnUse", x=0, y=0, width=WIDTH, height=HEIGHT)


def darkened(drawing: str) -> str:
    """Draw something for the dark that was drawn for white paper."""
    return tag("g", drawing, filter=f"url(#{INK})")
