"""Routes for persona suggestions: clarifying questions about a situation, and a stream of suggested personas."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Meta, Struct

from moot.server.auth import Revocations
from moot.server.rate_limits import model_request_rate
from moot.server.requests import reject_if_draining, run_until_disconnect
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, start_event_stream
from moot.services.persona_suggestions import ClarifyingQuestions, PersonaSuggestions
from moot.services.run_plans import RunPlanner
from moot.types.accounts import Caller
from moot.types.personas import MAX_QUESTIONS, Situation, SituationAnswer
from moot.types.primitives import ModelName


class SituationInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    situation: Situation
    model: ModelName


class SuggestionRequest(SituationInput, frozen=True, kw_only=True, forbid_unknown_fields=True):
    # Answers to the clarifying questions, if there were any.
    answers: Annotated[tuple[SituationAnswer, ...], Meta(max_length=MAX_QUESTIONS)] = ()


class PersonaSuggestionRoutes(Controller):
    path = "/api/persona-suggestions"
    tags = ("persona-suggestions",)

    @post(
        "/questions",
        status_code=200,
        guards=[model_request_rate, reject_if_draining],
        summary="Get clarifying questions about a situation",
    )
    async def ask_questions(
        self,
        data: JSONBody[SituationInput],
        request: Request[Caller, Any, Any],
        run_planner: Given[RunPlanner],
        revocations: Given[Revocations],
        persona_suggestions: Given[PersonaSuggestions],
    ) -> ClarifyingQuestions:
        """Respond with up to three questions when the model has answered."""
        run_planner.check_model(data.model, "model")
        task = persona_suggestions.ask_questions(request.user, data.situation, data.model)
        return await run_until_disconnect(request, revocations, task)

    @post(
        status_code=200,
        guards=[model_request_rate, reject_if_draining],
        media_type=SSE_MEDIA_TYPE,
        summary="Suggest personas for a situation, as server-sent events",
    )
    async def suggest_personas(
        self,
        data: JSONBody[SuggestionRequest],
        caller: Given[Caller],
        run_planner: Given[RunPlanner],
        persona_suggestions: Given[PersonaSuggestions],
        sse_connections: Given[SseConnections],
    ) -> Response[str]:
        """Send each persona as soon as it is complete, two per category. Suggestions are not stored."""
        run_planner.check_model(data.model, "model")
        events = persona_suggestions.suggest_personas(caller, data.situation, data.answers, data.model)
        return sse_connections.stream_response(await start_event_stream(events), caller)
