"""Rasterizes the SVG of a whiteboard to PNG."""

import re
import string

from moot.whiteboard.geometry import HEIGHT
from moot.whiteboard.render.fonts import MATHS, SANS, font
from moot.whiteboard.render.svg import svg
from moot.whiteboard.render.text import MONO
from moot.whiteboard.state import Board

CODE = re.compile(rf'(?<=<g font-family="{MONO}")(.*?)(?=</g>)', re.DOTALL)
TEXT = re.compile(r"(?<=>)[^<>]+(?=<)")
ENTITY = re.compile(r"(&\w+;)")
CAPITALS, SMALL, DIGITS = 0x1D670, 0x1D68A, 0x1D7F6
LETTERS = str.maketrans(
    {
        char: chr(first + at)
        for first, chars in (
            (CAPITALS, string.ascii_uppercase),
            (SMALL, string.ascii_lowercase),
            (DIGITS, string.digits),
        )
        for at, char in enumerate(chars)
    }
)


def typed(svg: str) -> str:
    """Write all code of a picture in the letters of a typewriter."""
    return CODE.sub(lambda code: TEXT.sub(lambda text: _typed(text[0]), code[0]), svg)


def _typed(text: str) -> str:
    return "".join(part if ENTITY.fullmatch(part) else part.translate(LETTERS) for part in ENTITY.split(text))


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
