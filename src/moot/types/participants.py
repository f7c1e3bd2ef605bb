"""Participants of a discussion. Several participants can use the same model."""

import re
from collections.abc import Container, Iterable, Iterator
from itertools import count
from typing import Literal

from msgspec import Struct

from moot.types.requests import Effort

LessonRole = Literal["teacher", "assistant", "student"]
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
# Default colours by participant index: distinct hues, readable on light and dark backgrounds.
PARTICIPANT_COLOURS = ("#2f7d80", "#b4532a", "#6a5acd", "#a07a12", "#b03a6b", "#3f7f3f", "#3a6fb5", "#8a5a44")


class Participant(Struct, frozen=True, omit_defaults=True):
    """A model with optional persona and request parameters."""

    id: str  # unique within the discussion
    name: str
    model: str
    persona: str | None = None  # persona id
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    role: LessonRole | None = None  # directed mode
    priority: int = 0  # directed mode: order of agents if no rule decides
    active: bool = True  # advisors mode: inactive advisors receive no requests
    colour: str | None = None  # for the page, as is `avatar`
    avatar: str | None = None
    tools: tuple[str, ...] = ()  # allowed tools: `server` or `server/tool`


def default_names() -> Iterator[str]:
    """Yield Alpha, Beta, … Omega, Alpha 2, Beta 2 and so on, without end."""
    yield from DEFAULT_NAMES
    for lap in count(2):
        yield from (f"{name} {lap}" for name in DEFAULT_NAMES)


def first_free_name(candidates: Iterable[str], used_ids: Container[str]) -> str:
    return next(name for name in candidates if participant_id(name) not in used_ids)


def make_participants(models: tuple[str, ...]) -> tuple[Participant, ...]:
    """Return one participant per model, each with a default name and a unique id."""
    return tuple(
        Participant(participant_id(name), name, model) for name, model in zip(default_names(), models, strict=False)
    )


def participant_id(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-") or "participant"
