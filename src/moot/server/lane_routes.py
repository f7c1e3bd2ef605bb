"""The lanes of a run over HTTP: read one, stop one, let one or all that failed try again."""

from litestar import Controller, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.engine.reports import Reports, Thread
from moot.engine.retrying import Retrying
from moot.engine.seating import Seating
from moot.model.accounts import Caller
from moot.model.discussions import Run
from moot.server.bodies import Retry
from moot.server.limits import start_rate
from moot.store.runs import Runs


class LaneRoutes(Controller):
    path = "/api/runs/{id:str}"
    tags = ("lanes",)

    @get("/lanes/{participant:str}/messages", summary="What a participant was told, and what it answered")
    async def messages(
        self, id: FromPath[str], participant: FromPath[str], caller: Given[Caller], reports: Given[Reports]
    ) -> Thread:
        """Return the thread of one lane as it stands, also while it is being written."""
        return await reports.thread(caller.tenant, id, participant)

    @post("/lanes/{participant:str}/stop", status_code=200, summary="Stop one participant of a run")
    async def stop(
        self, id: FromPath[str], participant: FromPath[str], caller: Given[Caller], runs: Given[Runs]
    ) -> Run:
        return await runs.wish_stop(caller.tenant, id, participant)

    @post(
        "/lanes/{participant:str}/retry",
        status_code=202,
        guards=[start_rate],
        summary="Let a participant that failed try again, perhaps with another model",
    )
    async def retry(
        self,
        id: FromPath[str],
        participant: FromPath[str],
        caller: Given[Caller],
        retrying: Given[Retrying],
        seating: Given[Seating],
        data: JSONBody[Retry | None] = None,
    ) -> Run:
        """While the others of its stage speak, it speaks with them; else the run goes on once more.

        What the others answered stays. If something changed, synthesis and minutes are made anew.
        """
        model = data.model if data else None
        if model is not None:
            seating.check(model, "model")
        return await retrying.again(caller, id, participant, model)

    @post(
        "/retry-failed",
        status_code=202,
        guards=[start_rate],
        summary="Let all participants that failed try again",
    )
    async def retry_failed(self, id: FromPath[str], caller: Given[Caller], retrying: Given[Retrying]) -> Run:
        return await retrying.again(caller, id)
