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
    rounds: int  # consensus mode only
    task_model: str | None  # for titles and analysis tasks; None: the default one
    debate: DebateOptions | None  # each options object is for the mode of the same name
    advisors: AdvisorOptions | None
    directed: DirectedOptions | None
    created_at: float  # Unix seconds


class PresetPage(Struct, frozen=True):
    presets: tuple[Preset, ...]
    next: str | None
