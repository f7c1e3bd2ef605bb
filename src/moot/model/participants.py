"""Who sits at the table. Two participants on one model are two participants."""

import re
from collections.abc import Iterator

from msgspec import Struct

NAMES = [
    "Alpha",
    "Beta",
    "Gamma",
    "Delta",
    "Epsilon",
    "Zeta",
    "Eta",
    "Theta",
    "Iota",
    "Kappa",
    "Lambda",
    "Mu",
    "Nu",
    "Xi",
    "Omicron",
    "Pi",
    "Rho",
    "Sigma",
    "Tau",
    "Upsilon",
    "Phi",
    "Chi",
    "Psi",
    "Omega",
]


class Participant(Struct, frozen=True):
    id: str
    name: str
    model: str


def default_names() -> Iterator[str]:
    """Count Alpha, Beta, … Omega, Alpha 2, Beta 2 and so on."""
    lap = 1
    while True:
        for name in NAMES:
            yield name if lap == 1 else f"{name} {lap}"
        lap += 1


def seat(models: tuple[str, ...]) -> tuple[Participant, ...]:
    """Give every model a seat with a name and an id of its own."""
    return tuple(
        Participant(re.sub(r"\W+", "-", name.lower()), name, model)
        for name, model in zip(default_names(), models, strict=False)
    )
