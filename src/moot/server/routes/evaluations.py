"""Routes for evaluations: judge an answer, improve its persona, apply or undo the improvement."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, get, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.prompts.tasks.evaluation import MAX_ASSERTION_CHARACTERS, MAX_ASSERTIONS, parse_assertions
from moot.server.auth import Revocations
from moot.server.rate_limits import model_request_rate
from moot.server.requests import reject_if_draining, run_until_disconnect
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, start_event_stream
from moot.services.evaluations.improve import PersonaImprover
from moot.services.evaluations.judge import EvaluationResult, Judge
from moot.services.run_plans import RunPlanner
from moot.store.discussions.discussions import Discussions
from moot.store.library.evaluations import Evaluations
from moot.types.accounts import Caller
from moot.types.evaluations import Evaluation
from moot.types.primitives import ModelName


class AssertionsInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    # One assertion per line.
    assertions: Annotated[str, Meta(min_length=1, max_length=2 * MAX_ASSERTIONS * MAX_ASSERTION_CHARACTERS)]
    judge: ModelName | None = None  # default: the `task_model`, else the model of the answer


class EvaluationRoutes(Controller):
    path = "/api"
    tags = ("evaluations",)

    @post(
        "/messages/{id:str}/evaluations",
        guards=[model_request_rate, reject_if_draining],
        summary="Judge an answer by assertions",
    )
    async def judge_answer(
        self,
        id: FromPath[str],
        data: JSONBody[AssertionsInput],
        request: Request[Caller, Any, Any],
        run_planner: Given[RunPlanner],
        revocations: Given[Revocations],
        evaluation_judge: Given[Judge],
    ) -> EvaluationResult:
        """Respond when the judge has answered: whether each assertion passes, with a reason."""
        assertions = parse_assertions(data.assertions)
        if data.judge is not None:
            run_planner.check_model(data.judge, "judge")
        evaluation = evaluation_judge.evaluate_answer(request.user, id, assertions, data.judge)
        return await run_until_disconnect(request, revocations, evaluation)

    @get("/messages/{id:str}/evaluations", summary="List the evaluations of an answer, newest first")
    async def list_evaluations(
        self, id: FromPath[str], caller: Given[Caller], discussions: Given[Discussions], evaluations: Given[Evaluations]
    ) -> tuple[Evaluation, ...]:
        message = await discussions.find_message(caller.tenant, id)
        return await evaluations.list_evaluations(caller.tenant, message.id)

    @get("/evaluations/{id:str}", summary="Get an evaluation with its rounds")
    async def get_evaluation(
        self, id: FromPath[str], caller: Given[Caller], evaluations: Given[Evaluations]
    ) -> Evaluation:
        return await evaluations.get_evaluation(caller.tenant, id)

    @post(
        "/evaluations/{id:str}/improve",
        status_code=200,
        guards=[model_request_rate, reject_if_draining],
        media_type=SSE_MEDIA_TYPE,
        summary="Improve the persona of the answer, round by round, as server-sent events",
    )
    async def improve_persona(
        self,
        id: FromPath[str],
        caller: Given[Caller],
        improvements: Given[PersonaImprover],
        sse_connections: Given[SseConnections],
    ) -> Response[str]:
        """Closing the stream stops the work. Finished rounds are stored; the next request continues after them.

        An evaluation has at most ten rounds. Nothing changes until the best round is applied.
        """
        return sse_connections.stream_response(
            await start_event_stream(improvements.improve_persona(caller, id)), caller
        )

    @post("/evaluations/{id:str}/apply", status_code=200, summary="Apply the best round of an evaluation")
    async def apply_improvement(
        self, id: FromPath[str], caller: Given[Caller], improvements: Given[PersonaImprover]
    ) -> Evaluation:
        """Change your own persona. For a built-in persona or none, create one and assign it to the participant."""
        return await improvements.apply_improvement(caller, id)

    @post("/evaluations/{id:str}/undo", status_code=200, summary="Restore the state before an improvement was applied")
    async def undo_improvement(
        self, id: FromPath[str], caller: Given[Caller], improvements: Given[PersonaImprover]
    ) -> Evaluation:
        """Returns 409 if the persona was changed since."""
        return await improvements.undo_improvement(caller, id)
