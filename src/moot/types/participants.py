"""Who sits at the table. Two participants on one model are two participants."""

import re
from collections.abc import Iterator

from msgspec import Struct

from moot.types.modes import LessonRole
from moot.types.requests import Effort

DEFAULT_NAMES = [
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
# Hues far apart from each other, in the order of the seats; each is readable on light and dark.
PARTICIPANT_COLOURS = ("#2f7d80", "#b4532a", "#6a5acd", "#a07a12", "#b03a6b", "#3f7f3f", "#3a6fb5", "#8a5a44")


class Participant(Struct, frozen=True, omit_defaults=True):
    """Somebody at the table: a model, perhaps in the part of a persona, and how it is to be asked.

    `role` is what it is in a lesson, and `priority` who comes first there where nothing else decides. Whoever is not
    `active` keeps its seat among advisors, and is not asked. `colour` and `avatar` are how a page shows it. `tools` are
    servers of tools, or single tools as `server/tool`, that it may call.
    """

    id: str
    name: str
    model: str
    persona: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None
    priority: int = 0
    active: bool = True
    colour: str | None = None
    avatar: str | None = None
    tools: tuple[str, ...] = ()


def default_names() -> Iterator[str]:
    """Count Alpha, Beta, … Omega, Alpha 2, Beta 2 and so on."""
    lap = 1
    while True:
        for name in DEFAULT_NAMES:
            yield name if lap == 1 else f"{name} {lap}"
        lap += 1


def make_participants(models: tuple[str, ...]) -> tuple[Participant, ...]:
    """Give every model a seat with a name and an id of its own."""
    return tuple(
        Participant(participant_id(name), name, model)
        for name, model in zip(default_names(), models, strict=False)
    )


def participant_id(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-") or "participant"
