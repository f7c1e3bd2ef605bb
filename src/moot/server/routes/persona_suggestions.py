"""Perspectives over HTTP: questions about a situation, and voices proposed for it, as they are written."""

from typing import Annotated, Any

from litestar import Controller, Request, Response, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Meta, Struct

from moot.server.auth import Revocations
from moot.server.disconnects import while_waited_for
from moot.server.rate_limits import start_rate
from moot.server.sse import MEDIA_TYPE, Readers, begun
from moot.services.discussions import Hall
from moot.services.participants import Seating
from moot.services.persona_suggestions import Asked, Perspectives
from moot.types.accounts import Caller
from moot.types.personas import MOST_QUESTIONS, Reply, Situation
from moot.types.primitives import ModelName


class SituationTold(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    situation: Situation
    model: ModelName


class SituationKnown(SituationTold, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`answers` are those to the questions that were asked back, if there were any."""

    answers: Annotated[tuple[Reply, ...], Meta(max_length=MOST_QUESTIONS)] = ()


class PerspectiveRoutes(Controller):
    path = "/api/perspectives"
    tags = ("perspectives",)

    @post("/questions", status_code=200, guards=[start_rate], summary="Be asked back about a situation")
    async def questions(
        self,
        data: JSONBody[SituationTold],
        request: Request[Caller, Any, Any],
        hall: Given[Hall],
        seating: Given[Seating],
        revocations: Given[Revocations],
        perspectives: Given[Perspectives],
    ) -> Asked:
        """Answer with up to three questions, when the model has them."""
        hall.refuse_if_leaving()
        seating.check(data.model, "model")
        asking = perspectives.questions(request.user, data.situation, data.model)
        return await while_waited_for(request, revocations, asking)

    @post(
        status_code=200,
        guards=[start_rate],
        media_type=MEDIA_TYPE,
        summary="Propose voices for a situation, as server-sent events",
    )
    async def propose(
        self,
        data: JSONBody[SituationKnown],
        caller: Given[Caller],
        hall: Given[Hall],
        seating: Given[Seating],
        perspectives: Given[Perspectives],
        readers: Given[Readers],
    ) -> Response[str]:
        """Tell each as soon as it is written, two of each category. None is kept before it is made a persona."""
        hall.refuse_if_leaving()
        seating.check(data.model, "model")
        told = perspectives.propose(caller, data.situation, data.answers, data.model)
        return readers.stream(await begun(told), caller)
