"""Axes: round numbers from below the least to above the greatest, and how they are written."""

from math import floor, log10
from typing import NamedTuple

FLAT = 1e-9  # numbers that differ by less than this part are the same
UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e4, "k"))


class Scale(NamedTuple):
    low: float
    high: float
    step: float

    @property
    def ticks(self) -> tuple[float, ...]:
        count = round((self.high - self.low) / self.step)
        return tuple(self.low + self.step * at for at in range(count + 1))

    def part(self, value: float) -> float:
        """Return how far up the scale a value is, from 0 to 1."""
        return (value - self.low) / (self.high - self.low)


def scale(low: float, high: float, *, steps: int, from_zero: bool) -> Scale:
    """Round a range outwards into about so many steps of 1, 2 or 5 times a power of ten."""
    if from_zero:
        low, high = min(low, 0), max(high, 0)
    if high - low <= max(abs(low), abs(high), 0.001) * FLAT:
        low, high = (0, 1) if from_zero else (low - 1, high + 1)
    rough = (high - low) / max(steps, 1)
    power = 10.0 ** floor(log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first, last = floor(low / step + 1e-9), -floor(-high / step + 1e-9)
    return Scale(first * step, max(last, first + 1) * step, step)


def shown(value: float) -> str:
    """Write a number in few characters."""
    size, unit = next(((size, unit) for size, unit in UNITS if abs(value) >= size), (1, ""))
    if unit == "k":
        size = 1e3
    text = f"{value / size:.4g}"
    return f"{'0' if text == '-0' else text}{unit}"
