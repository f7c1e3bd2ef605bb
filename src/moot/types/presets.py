"""Line-ups: who sits at a table and how they speak, kept under a name to open discussions with."""

from msgspec import Struct

from moot.types.debate import DebateOptions
from moot.types.modes import AdvisorOptions, DirectedOptions, ModeName
from moot.types.participants import Participant


class Preset(Struct, frozen=True, kw_only=True):
    """All but `id`, `name` and `created_at` is as in a discussion, and can be sent as it is to open one."""

    id: str
    name: str
    mode: ModeName
    participants: tuple[Participant, ...]
    rounds: int
    clerk: str | None
    debate: DebateOptions | None
    advisors: AdvisorOptions | None
    directed: DirectedOptions | None
    created_at: float


class PresetPage(Struct, frozen=True):
    line_ups: tuple[Preset, ...]
    next: str | None
