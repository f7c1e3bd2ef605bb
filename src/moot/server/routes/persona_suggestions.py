"""Perspectives over HTTP: questions about a situation, and voices proposed for it, as they are written."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Meta, Struct

from moot.server.auth import Revocations
from moot.server.disconnects import run_until_disconnect
from moot.server.rate_limits import model_request_rate
from moot.server.sse import SSE_MEDIA_TYPE, SseConnections, start_event_stream
from moot.services.discussions import DiscussionService
from moot.services.participants import ParticipantResolver
from moot.services.persona_suggestions import Asked, PersonaSuggestions
from moot.types.accounts import Caller
from moot.types.personas import MAX_QUESTIONS, Reply, Situation
from moot.types.primitives import ModelName


class SituationTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    situation: Situation
    model: ModelName


class SituationKnown(SituationTold, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`answers` are those to the questions that were asked back, if there were any."""

    answers: Annotated[tuple[Reply, ...], Meta(max_length=MAX_QUESTIONS)] = ()


class PersonaSuggestionRoutes(Controller):
    path = "/api/perspectives"
    tags = ("perspectives",)

    @post(
        "/questions", status_code=200, guards=[model_request_rate], summary="Be asked back about a situation"
    )
    async def questions(
        self,
        data: JSONBody[SituationTold],
        request: Request[Caller, Any, Any],
        hall: Given[DiscussionService],
        seating: Given[ParticipantResolver],
        revocations: Given[Revocations],
        perspectives: Given[PersonaSuggestions],
    ) -> Asked:
        """Answer with up to three questions, when the model has them."""
        hall.reject_if_draining()
        seating.check_model(data.model, "model")
        asking = perspectives.ask_questions(request.user, data.situation, data.model)
        return await run_until_disconnect(request, revocations, asking)

    @post(
        status_code=200,
        guards=[model_request_rate],
        media_type=SSE_MEDIA_TYPE,
        summary="Propose voices for a situation, as server-sent events",
    )
    async def propose(
        self,
        data: JSONBody[SituationKnown],
        caller: Given[Caller],
        hall: Given[DiscussionService],
        seating: Given[ParticipantResolver],
        perspectives: Given[PersonaSuggestions],
        readers: Given[SseConnections],
    ) -> Response[str]:
        """Tell each as soon as it is written, two of each category. None is kept before it is made a persona."""
        hall.reject_if_draining()
        seating.check_model(data.model, "model")
        told = perspectives.suggest_personas(caller, data.situation, data.answers, data.model)
        return readers.stream_response(await start_event_stream(told), caller)
