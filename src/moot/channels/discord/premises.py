"""What the Discord channel needs of the house it is in, and on whose behalf it speaks there."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from moot.channels.discord.delivery import Degree
from moot.engine.boards import Boards
from moot.engine.changes import Changes
from moot.engine.feeds import Feeds
from moot.engine.hall import Hall
from moot.engine.painting import Painter
from moot.engine.seating import Seating
from moot.model.accounts import Caller
from moot.store.channels import Channels
from moot.store.database import Database
from moot.store.discussions import Discussions
from moot.store.events import Events
from moot.store.files import Files
from moot.store.permissions import Permissions
from moot.store.personas import Personas
from moot.store.runs import Runs

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
