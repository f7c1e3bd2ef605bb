"""The event stream of the web page: changes of all discussions, and run events of the open discussion."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from litestar import Response, get
from litestar.di import NamedDependency as Given
from litestar.params import QueryParameter
from msgspec import Meta

from moot.engine.events.discussion_changes import DiscussionChanges
from moot.engine.events.hub import DiscussionSubscription, EventHub
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, parse_event_seq, resync_frame
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog, RunProgress
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.primitives import EVENT_CURSOR_PATTERN

MAX_RUN_CURSORS = 20

OpenDiscussion = Annotated[
    str | None, QueryParameter(description="Also send the events of active runs of this discussion")
]
RunCursors = Annotated[
    list[Annotated[str, Meta(pattern=EVENT_CURSOR_PATTERN, max_length=100)]] | None,
    QueryParameter(
        max_items=MAX_RUN_CURSORS,
        schema_extra={"maxItems": MAX_RUN_CURSORS},
        description="A run of it and the number of the last event that you have, such as `run_x:57`; repeat the "
        "parameter for other runs",
    ),
]


@get(
    "/api/events",
    tags=("server",),
    media_type=SSE_MEDIA_TYPE,
    summary="Stream changes of all your discussions, and the events of one, as server-sent events",
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
    """Send the active discussions first, then each change.

    With a `discussion`, also send all events of its runs that are active, start later or are retried. A run starts
    with its first event, or after the number in `after`. A finished run is sent only if `after` names it. A number
    that the run never reached causes a `resync` event and the whole run.
    """
    if discussion is None:
        if after:
            raise UsageError("after: `discussion` is missing. Name the discussion of these runs.")
        return sse_connections.stream_response(discussion_changes.stream_frames(caller.tenant), caller)
    await discussions.get_discussion(caller.tenant, discussion)
    progress = await events.discussion_progress(caller.tenant, discussion)
    last_seqs, invalid_runs = parse_event_cursors(after or (), progress)
    subscription = DiscussionSubscription(
        discussion_changes,
        events,
        event_hub,
        tenant=caller.tenant,
        discussion=discussion,
        progress=progress,
        after=last_seqs,
    )
    opening_frame = b"".join(resync_frame(run) for run in invalid_runs)
    return sse_connections.stream_response(subscription.stream_frames(), caller, opening_frame)


def parse_event_cursors(
    cursors: Sequence[str], progress_by_run: Mapping[str, RunProgress]
) -> tuple[dict[str, int], list[str]]:
    """Parse cursors such as `run_x:57`. If a run has several cursors, the last one wins.

    Return the last received event number by run, and the runs that need a `resync` event, because they never reached
    that number. Raises `NotFound` for a run that is not in `progress_by_run`.
    """
    requested = {run: parse_event_seq(text) for run, _, text in (cursor.rpartition(":") for cursor in cursors)}
    after: dict[str, int] = {}
    for run, last in requested.items():
        if run not in progress_by_run:
            raise NotFound(f"after: There is no run {run!r} in this discussion.")
        after[run] = last if last is not None and last <= progress_by_run[run].last_seq else 0
    return after, [run for run, last in requested.items() if last != after[run]]
