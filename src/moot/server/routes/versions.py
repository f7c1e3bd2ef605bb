"""Versions of a turn over HTTP: an answer given anew, other words, all of them, and which is to be current."""

from litestar import Controller, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody

from moot.server.rate_limits import message_rate
from moot.server.routes.discussions import AcceptedRun
from moot.server.schemas import IdempotencyKey, MessageEdit, RegenerateRequest, VersionSelection, require_text
from moot.services.participants import ParticipantResolver
from moot.services.versions import VersionService
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.versions import Versions


class VersionRoutes(Controller):
    path = "/api/discussions/{id:str}/turns/{turn:str}"
    tags = ("versions",)

    @post("/again", status_code=202, guards=[message_rate], summary="Let an answer be given anew")
    async def regenerate_turn(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
        participant_resolver: Given[ParticipantResolver],
        data: JSONBody[RegenerateRequest | None] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> AcceptedRun:
        """Ask with the very prompt that was sent then, perhaps another model.

        The run has one turn. When it has answered, that is the current version; if it fails, nothing changes. Refused
        while the table speaks.
        """
        model = data.model if data else None
        if model is not None:
            participant_resolver.check_model(model, "model")
        started = await turn_versions.regenerate_answer(caller, id, turn, model, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @patch(summary="Put other words in the place of what was said")
    async def edit_turn(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        data: JSONBody[MessageEdit],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
    ) -> Message:
        """Make a version of an answer, or of a person's message, that is seen from now on. Refused while the table speaks."""
        return await turn_versions.edit_turn(
            caller, id, turn, require_text(data.content.replace("\0", ""), "content")
        )

    @get("/versions", summary="List the versions of a turn, oldest first")
    async def list_versions(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
    ) -> Versions:
        return await turn_versions.list_versions(caller, id, turn)

    @post("/choose", status_code=200, summary="Let an earlier version be current again")
    async def select_version(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        data: JSONBody[VersionSelection],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
    ) -> Message:
        """What was said since stays as it was: it was said after the other version. Refused while the table speaks."""
        return await turn_versions.select_version(caller, id, turn, data.version)
