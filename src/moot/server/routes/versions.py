"""Routes for the versions of a turn: regenerate, edit, list and select."""

from typing import Annotated

from litestar import Controller, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.server.rate_limits import message_rate
from moot.server.requests import IdempotencyKey
from moot.server.routes.discussions import AcceptedRun
from moot.services.run_plans import Id, RunPlanner, require_text
from moot.services.versions import VersionService
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.primitives import ModelName
from moot.types.versions import Versions


class RegenerateRequest(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    model: ModelName | None = None  # for this turn only; default: the model of the original turn


class MessageEdit(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    content: Annotated[str, Meta(min_length=1, max_length=100_000)]


class VersionSelection(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    version: Id


class VersionRoutes(Controller):
    path = "/api/discussions/{id:str}/turns/{turn:str}"
    tags = ("versions",)

    @post("/regenerate", status_code=202, guards=[message_rate], summary="Regenerate an answer")
    async def regenerate_turn(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
        run_planner: Given[RunPlanner],
        data: JSONBody[RegenerateRequest | None] = None,
        idempotency_key: IdempotencyKey = None,
    ) -> AcceptedRun:
        """Send the original prompt again, optionally to another model.

        The run has one turn. Its answer becomes the current version; if it fails, nothing changes. Returns 409 while
        a run is active.
        """
        model = data.model if data else None
        if model is not None:
            run_planner.check_model(model, "model")
        started = await turn_versions.regenerate_answer(caller, id, turn, model, idempotency_key)
        return AcceptedRun(message=started.message, run=started.run)

    @patch(summary="Edit a message")
    async def edit_turn(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        data: JSONBody[MessageEdit],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
    ) -> Message:
        """Create a version of an answer or a user message. Later turns see it. Returns 409 while a run is active."""
        return await turn_versions.edit_turn(caller, id, turn, require_text(data.content.replace("\0", ""), "content"))

    @get("/versions", summary="List the versions of a turn, oldest first")
    async def list_versions(
        self, id: FromPath[str], turn: FromPath[str], caller: Given[Caller], turn_versions: Given[VersionService]
    ) -> Versions:
        return await turn_versions.list_versions(caller, id, turn)

    @post("/select", status_code=200, summary="Select the current version of a turn")
    async def select_version(
        self,
        id: FromPath[str],
        turn: FromPath[str],
        data: JSONBody[VersionSelection],
        caller: Given[Caller],
        turn_versions: Given[VersionService],
    ) -> Message:
        """Later turns are kept, although they answered another version. Returns 409 while a run is active."""
        return await turn_versions.select_version(caller, id, turn, data.version)
