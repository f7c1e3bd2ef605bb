"""The fonts that come along with the libraries, found without loading these."""

from importlib.util import find_spec
from pathlib import Path

from moot.model.errors import Unavailable

SANS = ("ziafont", "DejaVuSans.ttf")
MATHS = ("ziamath", "STIXTwoMath-Regular.ttf")


def font(package: str, name: str) -> Path:
    """Return where a font is that a package brings."""
    found = find_spec(package)
    if found is None or found.origin is None:
        raise Unavailable(f"The font {name} comes with {package}, which is not installed. Install moot anew.")
    return Path(found.origin).parent / "fonts" / name
