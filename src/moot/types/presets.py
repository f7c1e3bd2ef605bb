"""Presets: named sets of participants and mode options for new discussions."""

from msgspec import Struct

from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions, ModeName
from moot.types.participants import Participant


class Preset(Struct, frozen=True, kw_only=True):
    """A stored preset. Fields except `id`, `name` and `created_at` are valid in the request for a new discussion."""

    id: str
    name: str
    mode: ModeName
    participants: tuple[Participant, ...]
    rounds: int
    task_model: str | None
    debate: DebateOptions | None
    advisors: AdvisorOptions | None
    directed: DirectedOptions | None
    created_at: float


class PresetPage(Struct, frozen=True):
    presets: tuple[Preset, ...]
    next: str | None
