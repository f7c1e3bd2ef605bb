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
from moot.services.evaluations.judge import EvaluationResult, Judge
from moot.services.participants import ParticipantResolver
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Evaluations
from moot.types.accounts import Caller
from moot.types.evaluations import Evaluation
from moot.types.primitives import ModelName


class AssertionsInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`assertions` are read one a line. `judge` is who decides; left out, the clerk, or else the answer's own model."""

    assertions: Annotated[str, Meta(min_length=1, max_length=2 * MAX_ASSERTIONS * MAX_ASSERTION_CHARACTERS)]
    judge: ModelName | None = None


class EvaluationRoutes(Controller):
    path = "/api"
    tags = ("trials",)

    @post(
        "/messages/{id:str}/assertions", guards=[model_request_rate], summary="Judge an answer by assertions"
    )
    async def judge_answer(
        self,
        id: FromPath[str],
        data: JSONBody[AssertionsInput],
        request: Request[Caller, Any, Any],
        discussion_service: Given[DiscussionService],
        participant_resolver: Given[ParticipantResolver],
        revocations: Given[Revocations],
        evaluation_judge: Given[Judge],
    ) -> EvaluationResult:
        """Answer when the judge has: whether each assertion passes, and why."""
        discussion_service.reject_if_draining()
        asserted = parse_assertions(data.assertions)
        if data.judge is not None:
            participant_resolver.check_model(data.judge, "judge")
        judging = evaluation_judge.evaluate_answer(request.user, id, asserted, data.judge)
        return await run_until_disconnect(request, revocations, judging)

    @get("/messages/{id:str}/assertions", summary="List the trials of an answer, newest first")
    async def list_evaluations(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussions: Given[Discussions],
        evaluations: Given[Evaluations],
    ) -> tuple[Evaluation, ...]:
        found = await discussions.find_message(caller.tenant, id)
        return await evaluations.list_evaluations(caller.tenant, found.id)

    @get("/trials/{id:str}", summary="Read a trial with its rounds")
    async def get_evaluation(
        self, id: FromPath[str], caller: Given[Caller], evaluations: Given[Evaluations]
    ) -> Evaluation:
        return await evaluations.get_evaluation(caller.tenant, id)

    @post(
        "/trials/{id:str}/improve",
        status_code=200,
        guards=[model_request_rate],
        media_type=SSE_MEDIA_TYPE,
        summary="Improve what gave the answer, round by round, as server-sent events",
    )
    async def improve_persona(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        discussion_service: Given[DiscussionService],
        improvements: Given[PersonaImprover],
        sse_connections: Given[SseConnections],
    ) -> Response[str]:
        """Leave the stream to stop. Finished rounds are kept, and the same call goes on after them.

        Ten rounds are the most for a trial; nothing is applied before it is accepted.
        """
        discussion_service.reject_if_draining()
        return sse_connections.stream_response(
            await start_event_stream(improvements.improve_persona(caller, id)), caller
        )

    @post("/trials/{id:str}/accept", status_code=200, summary="Apply the best round of a trial")
    async def accept_improvement(
        self, id: FromPath[str], caller: Given[Caller], improvement_applier: Given[ImprovementApplier]
    ) -> Evaluation:
        """Change your own persona; of a shipped one, or none, make a new one that the participant plays from now on."""
        return await improvement_applier.apply_improvement(caller, id)

    @post(
        "/trials/{id:str}/undo",
        status_code=200,
        summary="Put back what was there before a trial was accepted",
    )
    async def undo_improvement(
        self, id: FromPath[str], caller: Given[Caller], improvement_applier: Given[ImprovementApplier]
    ) -> Evaluation:
        """Refused where it was changed since."""
        return await improvement_applier.undo_improvement(caller, id)
