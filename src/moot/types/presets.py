"""Line-ups: who sits at a table and how they speak, kept under a name to open discussions with."""

from msgspec import Struct

from moot.types.debate import Debate
from moot.types.modes import Advisors, Directed, ModeName
from moot.types.participants import Participant


class LineUp(Struct, frozen=True, kw_only=True):
    """All but `id`, `name` and `created_at` is as in a discussion, and can be sent as it is to open one."""

    id: str
    name: str
    mode: ModeName
    participants: tuple[Participant, ...]
    rounds: int
    clerk: str | None
    debate: Debate | None
    advisors: Advisors | None
    directed: Directed | None
    created_at: float


class LineUpPage(Struct, frozen=True):
    line_ups: tuple[LineUp, ...]
    next: str | None
