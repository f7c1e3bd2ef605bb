"""Renders a whiteboard to PNG, with bundled fonts only."""

import re
import string

from moot.whiteboard.geometry import CANVAS_HEIGHT
from moot.whiteboard.render.fonts import MATH_FONT, SANS_FONT, font_path
from moot.whiteboard.render.svg import render_svg
from moot.whiteboard.render.text import MONO_FAMILY
from moot.whiteboard.state import Board

CODE_GROUP = re.compile(rf'(?<=<g font-family="{MONO_FAMILY}")(.*?)(?=</g>)', re.DOTALL)
TEXT_NODE = re.compile(r"(?<=>)[^<>]+(?=<)")
ENTITY = re.compile(r"(&\w+;)")
MONOSPACE_LETTERS = str.maketrans(
    string.ascii_uppercase + string.ascii_lowercase + string.digits,
    "".join(map(chr, (*range(0x1D670, 0x1D6A4), *range(0x1D7F6, 0x1D800)))),
)


def use_monospace_letters(svg: str) -> str:
    """Replace ASCII letters in code elements by Unicode monospace letters.

    No monospace font is bundled, but the math font contains these characters.
    """
    return CODE_GROUP.sub(lambda code: TEXT_NODE.sub(lambda text: _to_monospace(text[0]), code[0]), svg)


def _to_monospace(text: str) -> str:
    return "".join(part if ENTITY.fullmatch(part) else part.translate(MONOSPACE_LETTERS) for part in ENTITY.split(text))


DEFAULT_ZOOM = 1.5
SANS_SERIF_FAMILY, MONOSPACE_FAMILY = "DejaVu Sans", "STIX Two Math"


def render_png(board: Board, zoom: float = DEFAULT_ZOOM, height: float = CANVAS_HEIGHT) -> bytes:
    """Return PNG bytes, cropped at `height`. Characters missing in the bundled fonts render as empty boxes."""
    from resvg_py import svg_to_bytes  # noqa: PLC0415 - a native library; only PNG needs it

    return svg_to_bytes(
        svg_string=use_monospace_letters(render_svg(board, height)),
        zoom=zoom,
        skip_system_fonts=True,
        font_files=[str(font_path(*SANS_FONT)), str(font_path(*MATH_FONT))],
        font_family=SANS_SERIF_FAMILY,
        sans_serif_family=SANS_SERIF_FAMILY,
        monospace_family=MONOSPACE_FAMILY,
    )
