"""Dependencies of the Discord bot."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from moot.discord.format.pipeline import DeliveryStyle
from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.whiteboards import Whiteboards
from moot.services.discussions import DiscussionService
from moot.services.image_renderer import ImageRenderer
from moot.services.run_plans import RunPlanner
from moot.store.database import Database
from moot.store.discord.channels import Channels
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.library.personas import Personas
from moot.store.runs.approvals import Approvals
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller

# Called with account id and mode. Raises RateLimited.
CheckRateLimit = Callable[[str, str], Awaitable[None]]


class DiscordDeps(Struct, frozen=True, kw_only=True):
    """Services and settings that the bot uses. The composition root builds it."""

    caller: Caller  # the account on whose behalf the bot sends messages
    database: Database
    discussion_service: DiscussionService
    check_rate_limit: CheckRateLimit
    channels: Channels
    discussions: Discussions
    runs: Runs
    events: EventLog
    event_hub: EventHub
    discussion_changes: DiscussionChanges
    files: Files
    personas: Personas
    run_planner: RunPlanner
    whiteboards: Whiteboards
    image_renderer: ImageRenderer
    approvals: Approvals
    delivery_style: DeliveryStyle = "paragraphs"
    block_impersonation: bool = False  # cut an answer off where it speaks as another participant
    reasoning_channel: str | None = None  # id of the channel that receives reasoning; None disables it
    default_model: str | None = None  # used when a command names no model
