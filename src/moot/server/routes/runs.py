"""Routes of runs and of their lanes."""

from typing import Annotated

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter

from moot.engine.events.hub import EventHub
from moot.server.event_cursors import parse_event_seq, resync_frame
from moot.server.rate_limits import model_request_rate
from moot.server.schemas import RetryRequest, StopRequest
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections
from moot.services.participants import ParticipantResolver
from moot.services.retries import RetryService
from moot.services.run_reports import LaneThread, RunReport, RunReports
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.discussion_events import ActiveDiscussion
from moot.types.discussions import Run


class LaneRoutes(Controller):
    path = "/api/runs/{id:str}"
    tags = ("lanes",)

    @get("/lanes/{participant:str}/messages", summary="What a participant was told, and what it answered")
    async def get_lane_messages(
        self,
        id: FromPath[str],
        participant: FromPath[str],
        caller: Given[Caller],
        run_reports: Given[RunReports],
    ) -> LaneThread:
        """Return the thread of one lane as it stands, also while it is being written."""
        return await run_reports.lane_thread(caller.tenant, id, participant)

    @post("/lanes/{participant:str}/stop", status_code=200, summary="Stop one participant of a run")
    async def stop_lane(
        self, id: FromPath[str], participant: FromPath[str], caller: Given[Caller], runs: Given[Runs]
    ) -> Run:
        return await runs.request_stop(caller.tenant, id, participant)

    @post(
        "/lanes/{participant:str}/retry",
        status_code=202,
        guards=[model_request_rate],
        summary="Let a participant that failed try again, perhaps with another model",
    )
    async def retry_lane(
        self,
        id: FromPath[str],
        participant: FromPath[str],
        caller: Given[Caller],
        retries: Given[RetryService],
        participant_resolver: Given[ParticipantResolver],
        data: JSONBody[RetryRequest | None] = None,
    ) -> Run:
        """While the others of its stage speak, it speaks with them; else the run goes on once more.

        What the others answered stays. If something changed, synthesis and minutes are made anew.
        """
        model = data.model if data else None
        if model is not None:
            participant_resolver.check_model(model, "model")
        return await retries.retry_run(caller, id, participant, model)

    @post(
        "/retry-failed",
        status_code=202,
        guards=[model_request_rate],
        summary="Let all participants that failed try again",
    )
    async def retry_failed_lanes(
        self, id: FromPath[str], caller: Given[Caller], retries: Given[RetryService]
    ) -> Run:
        return await retries.retry_run(caller, id)


AfterSeq = Annotated[
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
    async def get_run(
        self, id: FromPath[str], caller: Given[Caller], run_reports: Given[RunReports]
    ) -> RunReport:
        return await run_reports.get_report(caller.tenant, id)

    @post("/{id:str}/stop", status_code=200, summary="Stop a run, or one participant of it")
    async def stop_run(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        runs: Given[Runs],
        data: JSONBody[StopRequest | None] = None,
    ) -> Run:
        """What was said so far is kept. A run that is over stays as it is."""
        return await runs.request_stop(caller.tenant, id, data.participant if data else None)

    @get(
        "/{id:str}/events",
        summary="The events of a run, as server-sent events",
        media_type=SSE_MEDIA_TYPE,
        responses={204: ResponseSpec(None, description="The run is over, and you have all of it")},
    )
    async def stream_run_events(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        events: Given[EventLog],
        event_hub: Given[EventHub],
        sse_connections: Given[SseConnections],
        after: AfterSeq = None,
        last_event_id: LastEventId = None,
    ) -> Response[str]:
        """Go on after the given number; 204 when the run is over and there is nothing after it.

        A number that this run never had is answered with a `resync` event and everything from the start.
        """
        run = await events.run_progress(caller.tenant, id)
        asked = parse_event_seq(last_event_id) if last_event_id is not None else after or 0
        if asked is None or asked > run.last_seq:
            return sse_connections.stream_response(
                event_hub.subscribe(id, 0, run), caller, opening_frame=resync_frame(id)
            )
        if asked == run.last_seq and not run.live:
            return Response("", status_code=204)
        return sse_connections.stream_response(event_hub.subscribe(id, asked, run), caller)


@get("/api/activity", tags=RunRoutes.tags, summary="Where models are speaking now")
async def list_activity(
    caller: Given[Caller], discussions: Given[Discussions]
) -> tuple[ActiveDiscussion, ...]:
    """Name your discussions in which runs are waiting or going on, and how many."""
    return await discussions.live_run_counts(caller.tenant)
