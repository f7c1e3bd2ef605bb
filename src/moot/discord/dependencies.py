"""Dependencies of the Discord bot."""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.whiteboards import Whiteboards
from moot.services.discussions import DiscussionService
from moot.services.image_renderer import ImageRenderer
from moot.services.run_plans import RunPlanner
from moot.settings import DiscordSettings
from moot.store.stores import Stores
from moot.types.accounts import Caller


class DiscordDeps(Struct, frozen=True, kw_only=True):
    """Services and settings that the bot uses. The composition root builds it."""

    caller: Caller  # the account on whose behalf the bot sends messages
    stores: Stores
    settings: DiscordSettings
    default_model: str | None  # used when a command names no model
    discussion_service: DiscussionService
    run_planner: RunPlanner
    check_rate_limit: Callable[[str, str], Awaitable[None]]  # called with account id and mode; raises RateLimited
    event_hub: EventHub
    discussion_changes: DiscussionChanges
    whiteboards: Whiteboards
    image_renderer: ImageRenderer
