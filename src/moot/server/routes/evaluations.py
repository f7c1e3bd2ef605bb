"""Trials over HTTP: assertions about an answer, improving what gave it, and accepting that or undoing it."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.prompts.tasks.evaluation import MAX_ASSERTION_CHARACTERS, MAX_ASSERTIONS, parse_assertions
from moot.server.auth import Revocations
from moot.server.disconnects import run_until_disconnect
from moot.server.rate_limits import model_request_rate
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, start_event_stream
from moot.services.discussions import DiscussionService
from moot.services.evaluations.accept import ImprovementApplier
from moot.services.evaluations.improve import PersonaImprover
from moot.services.evaluations.judge import Judge, Judged
from moot.services.participants import ParticipantResolver
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Evaluations
from moot.types.accounts import Caller
from moot.types.evaluations import Trial
from moot.types.primitives import ModelName


class Asserted(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`assertions` are read one a line. `judge` is who decides; left out, the clerk, or else the answer's own model."""

    assertions: Annotated[str, Meta(min_length=1, max_length=2 * MAX_ASSERTIONS * MAX_ASSERTION_CHARACTERS)]
    judge: ModelName | None = None


class EvaluationRoutes(Controller):
    path = "/api"
    tags = ("trials",)

    @post(
        "/messages/{id:str}/assertions", guards=[model_request_rate], summary="Judge an answer by assertions"
    )
    async def judge(
        self,
        id: FromPath[str],
        data: JSONBody[Asserted],
        request: Request[Caller, Any, Any],
        hall: Given[DiscussionService],
        seating: Given[ParticipantResolver],
        revocations: Given[Revocations],
        court: Given[Judge],
    ) -> Judged:
        """Answer when the judge has: whether each assertion passes, and why."""
        hall.reject_if_draining()
        asserted = parse_assertions(data.assertions)
        if data.judge is not None:
            seating.check_model(data.judge, "judge")
        judging = court.evaluate_answer(request.user, id, asserted, data.judge)
        return await run_until_disconnect(request, revocations, judging)

    @get("/messages/{id:str}/assertions", summary="List the trials of an answer, newest first")
    async def of_message(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        trials: Given[Evaluations],
    ) -> tuple[Trial, ...]:
        found = await discussions.find_message(caller.tenant, id)
        return await trials.list_evaluations(caller.tenant, found.id)

    @get("/trials/{id:str}", summary="Read a trial with its rounds")
    async def read(self, id: FromPath[str], caller: Given[Caller], trials: Given[Evaluations]) -> Trial:
        return await trials.get_evaluation(caller.tenant, id)

    @post(
        "/trials/{id:str}/improve",
        status_code=200,
        guards=[model_request_rate],
        media_type=SSE_MEDIA_TYPE,
        summary="Improve what gave the answer, round by round, as server-sent events",
    )
    async def improve(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        hall: Given[DiscussionService],
        improvements: Given[PersonaImprover],
        readers: Given[SseConnections],
    ) -> Response[str]:
        """Leave the stream to stop. Finished rounds are kept, and the same call goes on after them.

        Ten rounds are the most for a trial; nothing is applied before it is accepted.
        """
        hall.reject_if_draining()
        return readers.stream_response(
            await start_event_stream(improvements.improve_persona(caller, id)), caller
        )

    @post("/trials/{id:str}/accept", status_code=200, summary="Apply the best round of a trial")
    async def accept(
        self, id: FromPath[str], caller: Given[Caller], accepting: Given[ImprovementApplier]
    ) -> Trial:
        """Change your own persona; of a shipped one, or none, make a new one that the participant plays from now on."""
        return await accepting.apply_improvement(caller, id)

    @post(
        "/trials/{id:str}/undo",
        status_code=200,
        summary="Put back what was there before a trial was accepted",
    )
    async def undo(
        self, id: FromPath[str], caller: Given[Caller], accepting: Given[ImprovementApplier]
    ) -> Trial:
        """Refused where it was changed since."""
        return await accepting.undo_improvement(caller, id)
