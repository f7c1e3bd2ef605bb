"""Bundled fonts and their character widths, parsed from the font files."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from struct import iter_unpack, unpack_from

from moot.types.errors import FeatureUnavailable

SANS_FONT = ("ziafont", "DejaVuSans.ttf")
MATH_FONT = ("ziamath", "STIXTwoMath-Regular.ttf")


def font_path(package: str, name: str) -> Path:
    """Return the path of a font file in a dependency; raises FeatureUnavailable if that is not installed."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise FeatureUnavailable(f"The font {name} is part of {package}, which is not installed. Reinstall moot.")
    return Path(found.origin).parent / "fonts" / name


UNICODE_CMAP_FORMAT = 12  # cmap subtable type that covers all of Unicode


class CharacterWidths:
    """Character widths of a TrueType font, in units of the font size."""

    def __init__(self, font: bytes) -> None:
        self._font = font
        self._table_offsets = dict(_read_table_offsets(font))
        (self._units_per_em,) = unpack_from(">H", font, self._table_offsets["head"] + 18)
        (self._metric_count,) = unpack_from(">H", font, self._table_offsets["hhea"] + 34)
        self._groups = list(self._read_character_groups())

    def character_width(self, char: str) -> float:
        """For missing characters, return the width of the placeholder glyph."""
        glyph = min(self._glyph_index(ord(char)), self._metric_count - 1)
        (width,) = unpack_from(">H", self._font, self._table_offsets["hmtx"] + 4 * glyph)
        return float(width / self._units_per_em)

    def _glyph_index(self, code: int) -> int:
        return next((glyph + code - first for first, last, glyph in self._groups if first <= code <= last), 0)

    def _read_character_groups(self) -> list[tuple[int, int, int]]:
        """Return a list of (first character, last character, glyph index of the first)."""
        start = self._table_offsets["cmap"]
        (count,) = unpack_from(">H", self._font, start + 2)
        for _, _, offset in iter_unpack(">HHI", self._font[start + 4 : start + 4 + 8 * count]):
            form, runs = unpack_from(">H10xI", self._font, start + offset)
            if form == UNICODE_CMAP_FORMAT:
                return list(iter_unpack(">III", self._font[start + offset + 16 : start + offset + 16 + 12 * runs]))
        raise ValueError("the font has no Unicode character map (cmap format 12)")


@cache
def sans_widths() -> CharacterWidths:
    return CharacterWidths(font_path(*SANS_FONT).read_bytes())


def _read_table_offsets(font: bytes) -> list[tuple[str, int]]:
    (count,) = unpack_from(">H", font, 4)
    return [(name.decode(), offset) for name, _, offset, _ in iter_unpack(">4sIII", font[12 : 12 + 16 * count])]
