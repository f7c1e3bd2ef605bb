"""Runs over HTTP: how they stand, their events from any number on, and a stop."""

from typing import Annotated

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter

from moot.engine.feeds import Feeds
from moot.engine.reports import Report, Reports
from moot.model.accounts import Caller
from moot.model.changes import Generating
from moot.model.discussions import Run
from moot.server.bodies import StopWish
from moot.server.bookmarks import number, resync
from moot.server.sse import MEDIA_TYPE, Readers
from moot.store.discussions import Discussions
from moot.store.events import Events
from moot.store.runs import Runs

After = Annotated[
    int | None,
    QueryParameter(ge=0, schema_extra={"minimum": 0}, description="The number of the last event you have"),
]
LastEventId = Annotated[
    str | None, HeaderParameter(name="Last-Event-ID", description="As `after`, and first")
]


class RunRoutes(Controller):
    path = "/api/runs"
    tags = ("runs",)

    @get("/{id:str}", summary="How a run stands, and what was found in it")
    async def read(self, id: FromPath[str], caller: Given[Caller], reports: Given[Reports]) -> Report:
        return await reports.of(caller.tenant, id)

    @post("/{id:str}/stop", status_code=200, summary="Stop a run, or one participant of it")
    async def stop(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        runs: Given[Runs],
        data: JSONBody[StopWish | None] = None,
    ) -> Run:
        """What was said so far is kept. A run that is over stays as it is."""
        return await runs.wish_stop(caller.tenant, id, data.participant if data else None)

    @get(
        "/{id:str}/events",
        summary="The events of a run, as server-sent events",
        media_type=MEDIA_TYPE,
        responses={204: ResponseSpec(None, description="The run is over, and you have all of it")},
    )
    async def events(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        events: Given[Events],
        feeds: Given[Feeds],
        readers: Given[Readers],
        after: After = None,
        last_event_id: LastEventId = None,
    ) -> Response[str]:
        """Go on after the given number; 204 when the run is over and there is nothing after it.

        A number that this run never had is answered with a `resync` event and everything from the start.
        """
        run = await events.standing(caller.tenant, id)
        asked = number(last_event_id) if last_event_id is not None else after or 0
        if asked is None or asked > run.newest:
            return readers.stream(feeds.follow(id, 0, run), caller, opening=resync(id))
        if asked == run.newest and not run.live:
            return Response("", status_code=204)
        return readers.stream(feeds.follow(id, asked, run), caller)


@get("/api/activity", tags=RunRoutes.tags, summary="Where models are speaking now")
async def activity(caller: Given[Caller], discussions: Given[Discussions]) -> tuple[Generating, ...]:
    """Name your discussions in which runs are waiting or going on, and how many."""
    return await discussions.generating(caller.tenant)
