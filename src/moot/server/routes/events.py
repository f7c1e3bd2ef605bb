"""One stream for all that a page shows: what changes in every discussion, and what is said in the one that is open."""

from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency as Given
from litestar.params import QueryParameter
from msgspec import Meta

from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import EventHub
from moot.engine.events.subscription import DiscussionSubscription
from moot.server.event_cursors import CURSOR_PATTERN, parse_event_cursors, resync_frame
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.types.accounts import Caller
from moot.types.errors import UsageError

MAX_RUN_CURSORS = 20

OpenDiscussion = Annotated[
    str | None, QueryParameter(description="The discussion of which the events of live runs are sent too")
]
RunCursors = Annotated[
    list[Annotated[str, Meta(pattern=CURSOR_PATTERN, max_length=100)]] | None,
    QueryParameter(
        max_items=MAX_RUN_CURSORS,
        schema_extra={"maxItems": MAX_RUN_CURSORS},
        description="A run of it and the number of the last event that you have, such as `run_x:57`; repeat it "
        "for others",
    ),
]


@get(
    "/api/events",
    tags=("server",),
    media_type=SSE_MEDIA_TYPE,
    summary="What changes in all your discussions, and the events of one, as server-sent events",
)
async def stream_events(
    caller: Given[Caller],
    discussion_changes: Given[DiscussionChanges],
    discussions: Given[Discussions],
    events: Given[EventLog],
    event_hub: Given[EventHub],
    sse_connections: Given[SseConnections],
    discussion: OpenDiscussion = None,
    after: RunCursors = None,
) -> Response[str]:
    """Begin with everything that goes on now; changes follow as they happen.

    With a `discussion`, every event of its runs that go on comes too: of those that are live, begin, or are tried
    again. Each run begins with its first event or after the number given; one that is named and has ended is sent to
    its end. A number that a run never had is answered with a `resync` event, and everything of that run.
    """
    if discussion is None:
        if after:
            raise UsageError("after: Say of which discussion these runs are, with `discussion`.")
        return sse_connections.stream_response(discussion_changes.stream_frames(caller.tenant), caller)
    await discussions.get_discussion(caller.tenant, discussion)
    found = await events.discussion_progress(caller.tenant, discussion)
    marks = parse_event_cursors(after or (), found)
    following = DiscussionSubscription(
        discussion_changes,
        events,
        event_hub,
        tenant=caller.tenant,
        discussion=discussion,
        progress=found,
        after=marks.after,
    )
    opening = b"".join(resync_frame(run) for run in marks.invalid_runs)
    return sse_connections.stream_response(following.stream_frames(), caller, opening)
