"""What the Discord channel needs of the house it is in, and on whose behalf it speaks there."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from moot.discord.format.pipeline import Degree
from moot.engine.events.discussion_changes import Changes
from moot.engine.events.hub import Feeds
from moot.engine.whiteboards import Boards
from moot.services.discussions import Hall
from moot.services.image_renderer import Painter
from moot.services.participants import Seating
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.library.personas import Personas
from moot.store.runs.approvals import Permissions
from moot.store.runs.event_log import Events
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller

Admit = Callable[[str, str], Awaitable[None]]  # an account and a mode; raises Busy where it is too often


class Premises(Struct, frozen=True, kw_only=True):
    """`model` is asked where none is named, `thoughts` is the thought-log.

    `degree` says how answers are delivered, `guard` whether they are cut where they go on with somebody else's words.
    """

    caller: Caller
    database: Database
    hall: Hall
    admit: Admit
    channels: Channels
    discussions: Discussions
    runs: Runs
    events: Events
    feeds: Feeds
    changes: Changes
    files: Files
    personas: Personas
    seating: Seating
    boards: Boards
    painter: Painter
    permissions: Permissions
    degree: Degree = 1
    guard: bool = False
    thoughts: str | None = None
    model: str | None = None
