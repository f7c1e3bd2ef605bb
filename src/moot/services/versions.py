"""Versions of an answer: regenerate, edit, select and list them."""

from msgspec.structs import replace

from moot.engine.attachments import Attachments
from moot.engine.turns.token_estimates import ContextLimits
from moot.services.discussions import DiscussionService, StartedRun
from moot.store.stores import Stores
from moot.streaming.lesson_turn import encode_lesson_items, parse_lesson_actions
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.events import ANSWERED_STATUSES
from moot.types.run_plan import RegenerateTarget, RunPlan
from moot.types.versions import Versions


class VersionService:
    def __init__(
        self,
        stores: Stores,
        discussion_service: DiscussionService,
        attachments: Attachments,
        context_limits: ContextLimits,
    ) -> None:
        self._discussions = stores.discussions
        self._runs = stores.runs
        self._edits = stores.edits
        self._discussion_service = discussion_service
        self._attachments = attachments
        self._context_limits = context_limits

    async def regenerate_answer(
        self, caller: Caller, id: str, turn: str, model: str | None = None, key: str | None = None
    ) -> StartedRun:
        """Start a run that answers the original prompt again, optionally with another model.

        The prompt has only the messages that the first answer saw.
        """
        answer = await self._find_message(caller, id, turn)
        target = _regenerate_target(answer)
        plan = await self._runs.get_plan(target.run)
        if model is not None:
            limits = await self._context_limits.limits_for_models([model], plan.mode)
            plan = plan.with_model(target.participant, model, limits)
            await self._check_files(caller, answer, plan)
        plan = replace(plan, max_cost_usd=None, regenerate=target)
        return await self._discussion_service.regenerate(caller, id, plan, key, (id, answer.id, model))

    async def edit_turn(self, caller: Caller, id: str, turn: str, text: str) -> Message:
        """Replace the text of a turn with a new version. Whiteboard actions of a lesson turn are kept."""
        message = await self._find_message(caller, id, turn)
        script = None
        if message.lesson_items:
            script = encode_lesson_items([text, *parse_lesson_actions(message.lesson_items)])
        return await self._edits.edit_message(caller.tenant, id, turn, text, script)

    async def select_version(self, caller: Caller, id: str, turn: str, version: str) -> Message:
        await self._discussions.get_discussion(caller.tenant, id)
        return await self._edits.select_version(caller.tenant, id, turn, version)

    async def list_versions(self, caller: Caller, id: str, turn: str) -> Versions:
        await self._discussions.get_discussion(caller.tenant, id)
        return await self._edits.list_versions(id, turn)

    async def _find_message(self, caller: Caller, id: str, turn: str) -> Message:
        """Raises NotFound for hidden and system messages, Conflict for a turn without an answer."""
        await self._discussions.get_discussion(caller.tenant, id)
        found = await self._discussions.get_message(id, turn)
        if found.hidden or found.role == "system":
            raise NotFound(f"{turn!r} is not a message of a user or participant.")
        if found.status not in ANSWERED_STATUSES:
            retry = f"/api/runs/{found.run}/lanes/{found.participant}/retry"
            raise Conflict(f"This turn has no answer. Retry it first, with POST {retry}.")
        return found

    async def _check_files(self, caller: Caller, answer: Message, plan: RunPlan) -> None:
        """Raise if the new model cannot read the files of the question."""
        question = (await self._runs.get_run(caller.tenant, answer.run or "")).message
        if question is not None:
            files = (await self._discussions.get_message(answer.discussion, question)).files or ()
            await self._attachments.validate_attachments(
                caller.tenant, files, replace(plan, to=(answer.participant or "",))
            )


def _regenerate_target(answer: Message) -> RegenerateTarget:
    if answer.participant is None or answer.run is None:
        raise NotFound(f"{answer.id!r} is not a turn of a participant.")
    if answer.view is None or answer.visible_until is None:
        raise Conflict("A crash interrupted this answer, and its prompt was not stored. Send a message instead.")
    return RegenerateTarget(
        answer=answer.id,
        seq=answer.seq,
        run=answer.run,
        participant=answer.participant,
        stage=answer.stage or "answer",
        round=answer.round,
        view=answer.view,
        visible_until=answer.visible_until,
        instructions=answer.instructions or "",
    )
