"""Routes for runs, their lanes and their event streams."""

from typing import Annotated

from litestar import Controller, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.openapi import ResponseSpec
from litestar.params import FromPath, HeaderParameter, JSONBody, QueryParameter
from msgspec import Struct

from moot.engine.events.hub import EventHub
from moot.server.rate_limits import model_request_rate
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, parse_event_seq, resync_frame
from moot.services.retries import RetryService
from moot.services.run_plans import Id, RunPlanner
from moot.services.run_reports import LaneThread, RunReport, RunReports
from moot.store.discussions.discussions import Discussions
from moot.store.runs.event_log import EventLog
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.discussions import ActiveDiscussion, Run
from moot.types.primitives import ModelName


class StopRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    participant: Id | None = None


class RetryRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: ModelName | None = None  # replaces the participant's model for the rest of the run


class LaneRoutes(Controller):
    path = "/api/runs/{id:str}"
    tags = ("lanes",)

    @get("/lanes/{participant:str}/messages", summary="Get the messages of one participant of a run")
    async def get_lane_messages(
        self, id: FromPath[str], participant: FromPath[str], caller: Given[Caller], run_reports: Given[RunReports]
    ) -> LaneThread:
        """Returns the thread of the lane, also while it is streaming."""
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
        summary="Retry a failed participant, optionally with another model",
    )
    async def retry_lane(
        self,
        id: FromPath[str],
        participant: FromPath[str],
        caller: Given[Caller],
        retries: Given[RetryService],
        run_planner: Given[RunPlanner],
        data: JSONBody[RetryRequest | None] = None,
    ) -> Run:
        """If the stage is still active, the participant rejoins it. Else the run is resumed.

        Answers of other participants are kept. If an answer changes, the synthesis and analyses are recomputed.
        """
        model = data.model if data else None
        if model is not None:
            run_planner.check_model(model, "model")
        return await retries.retry_run(caller, id, participant, model)

    @post("/retry-failed", status_code=202, guards=[model_request_rate], summary="Retry all failed participants")
    async def retry_failed_lanes(self, id: FromPath[str], caller: Given[Caller], retries: Given[RetryService]) -> Run:
        return await retries.retry_run(caller, id)


AfterSeq = Annotated[
    int | None, QueryParameter(ge=0, schema_extra={"minimum": 0}, description="Number of the last event that you have")
]
LastEventId = Annotated[
    str | None, HeaderParameter(name="Last-Event-ID", description="Like `after`, and takes precedence over it")
]


class RunRoutes(Controller):
    path = "/api/runs"
    tags = ("runs",)

    @get("/{id:str}", summary="Get the status and the results of a run")
    async def get_run(self, id: FromPath[str], caller: Given[Caller], run_reports: Given[RunReports]) -> RunReport:
        return await run_reports.get_report(caller.tenant, id)

    @post("/{id:str}/stop", status_code=200, summary="Stop a run or one of its participants")
    async def stop_run(
        self, id: FromPath[str], caller: Given[Caller], runs: Given[Runs], data: JSONBody[StopRequest | None] = None
    ) -> Run:
        """Partial answers are kept. A finished run does not change."""
        return await runs.request_stop(caller.tenant, id, data.participant if data else None)

    @get(
        "/{id:str}/events",
        summary="Stream the events of a run, as server-sent events",
        media_type=SSE_MEDIA_TYPE,
        responses={204: ResponseSpec(None, description="The run has ended and there are no more events")},
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
        """Resume after the given event number. Returns 204 if the run has ended and there are no more events.

        A number that the run never reached causes a `resync` event and the whole stream from the start.
        """
        progress = await events.run_progress(caller.tenant, id)
        last_seq = parse_event_seq(last_event_id) if last_event_id is not None else after or 0
        if last_seq is None or last_seq > progress.last_seq:
            return sse_connections.stream_response(
                event_hub.subscribe(id, 0, progress), caller, opening_frame=resync_frame(id)
            )
        if last_seq == progress.last_seq and not progress.live:
            return Response("", status_code=204)
        return sse_connections.stream_response(event_hub.subscribe(id, last_seq, progress), caller)


@get("/api/activity", tags=RunRoutes.tags, summary="List discussions with active runs")
async def list_activity(caller: Given[Caller], discussions: Given[Discussions]) -> tuple[ActiveDiscussion, ...]:
    """Returns your discussions that have queued or active runs, with their number."""
    return await discussions.live_run_counts(caller.tenant)
