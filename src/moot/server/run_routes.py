"""Runs over HTTP: how they stand, their events from any number on, and a stop."""

from typing import Annotated

from litestar import Controller, Response, get, post
from litestar.params import Parameter

from moot.engine.feeds import Feeds
from moot.model.accounts import Caller
from moot.model.discussions import LIVE, Run
from moot.server.bodies import StopWish
from moot.server.sse import Readers
from moot.store.events import Events
from moot.store.runs import Runs

RESYNC = b'event: resync\ndata: {"after":0}\n\n'


class RunRoutes(Controller):
    path = "/api/runs"
    tags = ("runs",)

    @get("/{id:str}", summary="How a run stands")
    async def read(self, id: str, caller: Caller, runs: Runs) -> Run:
        return await runs.get(caller.tenant, id)

    @post("/{id:str}/stop", status_code=200, summary="Stop a run, or one participant of it")
    async def stop(self, id: str, caller: Caller, runs: Runs, data: StopWish | None = None) -> Run:
        """What was said so far is kept. A run that is over stays as it is."""
        return await runs.wish_stop(caller.tenant, id, data.participant if data else None)

    @get(
        "/{id:str}/events",
        summary="The events of a run, as server-sent events",
        media_type="text/event-stream",
    )
    async def events(
        self,
        id: str,
        caller: Caller,
        runs: Runs,
        events: Events,
        feeds: Feeds,
        readers: Readers,
        after: Annotated[
            int | None, Parameter(ge=0, description="The number of the last event you have")
        ] = None,
        last_event_id: Annotated[str | None, Parameter(header="Last-Event-ID")] = None,
    ) -> Response[None]:
        """Go on after the given number; 204 when the run is over and there is nothing after it.

        A number that this run never had is answered with a `resync` event and everything from the start.
        """
        run = await runs.get(caller.tenant, id)
        asked = _number(last_event_id) if last_event_id is not None else after or 0
        newest = await events.newest(id)
        known = asked is not None and asked <= newest
        start = asked if known and asked is not None else 0
        if run.status not in LIVE and known and start == newest:
            return Response(None, status_code=204)

        return readers.stream(feeds.follow(id, start), caller, opening=b"" if known else RESYNC)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
