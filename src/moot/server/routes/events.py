"""One stream for all that a page shows: what changes in every discussion, and what is said in the one that is open."""

from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency as Given
from litestar.params import QueryParameter
from msgspec import Meta

from moot.engine.events.discussion_changes import Changes
from moot.engine.events.hub import Feeds
from moot.engine.events.subscription import Following
from moot.server.event_cursors import MARK, bookmarks, resync
from moot.server.sse import MEDIA_TYPE, Readers
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import Events
from moot.types.accounts import Caller
from moot.types.errors import UsageError

MOST_RUNS = 20

Open = Annotated[
    str | None, QueryParameter(description="The discussion of which the events of live runs are sent too")
]
Marks = Annotated[
    list[Annotated[str, Meta(pattern=MARK, max_length=100)]] | None,
    QueryParameter(
        max_items=MOST_RUNS,
        schema_extra={"maxItems": MOST_RUNS},
        description="A run of it and the number of the last event that you have, such as `run_x:57`; repeat it "
        "for others",
    ),
]


@get(
    "/api/events",
    tags=("server",),
    media_type=MEDIA_TYPE,
    summary="What changes in all your discussions, and the events of one, as server-sent events",
)
async def changes(
    caller: Given[Caller],
    changes: Given[Changes],
    discussions: Given[Discussions],
    events: Given[Events],
    feeds: Given[Feeds],
    readers: Given[Readers],
    discussion: Open = None,
    after: Marks = None,
) -> Response[str]:
    """Begin with everything that goes on now; changes follow as they happen.

    With a `discussion`, every event of its runs that go on comes too: of those that are live, begin, or are tried
    again. Each run begins with its first event or after the number given; one that is named and has ended is sent to
    its end. A number that a run never had is answered with a `resync` event, and everything of that run.
    """
    if discussion is None:
        if after:
            raise UsageError("after: Say of which discussion these runs are, with `discussion`.")
        return readers.stream(changes.follow(caller.tenant), caller)
    await discussions.get(caller.tenant, discussion)
    found = await events.standings(caller.tenant, discussion)
    marks = bookmarks(after or (), found)
    following = Following(
        changes,
        events,
        feeds,
        tenant=caller.tenant,
        discussion=discussion,
        found=found,
        after=marks.after,
    )
    opening = b"".join(resync(run) for run in marks.wrong)
    return readers.stream(following.frames(), caller, opening)
