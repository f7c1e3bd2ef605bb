"""Other versions of what was said: an answer given anew to the very same prompt, words that a person edits or chooses."""

from msgspec.structs import replace

from moot.engine.attachments import Attaching
from moot.engine.turns.token_estimates import Measuring
from moot.services.discussions import Hall, Started
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.edits import Edits
from moot.store.runs.runs import Runs
from moot.streaming.lesson_turn import actions_of, written
from moot.types.accounts import Caller
from moot.types.discussions import Message
from moot.types.errors import Conflict, NotFound
from moot.types.events import ANSWERED
from moot.types.run_plan import Anew, Plan
from moot.types.versions import Versions


class Revising:
    def __init__(self, database: Database, hall: Hall, attaching: Attaching, measuring: Measuring) -> None:
        self._discussions = Discussions(database)
        self._runs = Runs(database)
        self._edits = Edits(database)
        self._hall = hall
        self._attaching = attaching
        self._measuring = measuring

    async def again(
        self, caller: Caller, id: str, turn: str, model: str | None = None, key: str | None = None
    ) -> Started:
        """Let whoever gave an answer give another, perhaps by another model, having seen what it saw then."""
        answer = await self._said(caller, id, turn)
        then = _then(answer)
        plan = await self._runs.plan(then.run)
        if model is not None:
            measures = await self._measuring.of([model], plan.mode)
            plan = plan.with_model(then.participant, model, measures)
            await self._check_files(caller, answer, plan)
        plan = replace(plan, cap=None, again=then)
        return await self._hall.again(caller, id, plan, key, (id, answer.id, model))

    async def edit(self, caller: Caller, id: str, turn: str, words: str) -> Message:
        """Put other words in the place of an answer, or of a person's; what was drawn in a lesson stays."""
        now = await self._said(caller, id, turn)
        script = written([words, *actions_of(now.script)]) if now.script else None
        return await self._edits.edit(caller.tenant, id, turn, words, script)

    async def choose(self, caller: Caller, id: str, turn: str, version: str) -> Message:
        await self._discussions.get(caller.tenant, id)
        return await self._edits.choose(caller.tenant, id, turn, version)

    async def versions(self, caller: Caller, id: str, turn: str) -> Versions:
        await self._discussions.get(caller.tenant, id)
        return await self._edits.versions(id, turn)

    async def _said(self, caller: Caller, id: str, turn: str) -> Message:
        """Find what somebody said, or say that it cannot have versions."""
        await self._discussions.get(caller.tenant, id)
        found = await self._discussions.message(id, turn)
        if found.hidden or found.role == "system":
            raise NotFound(f"{turn!r} is nothing that somebody said.")
        if found.status not in ANSWERED:
            retry = f"/api/runs/{found.run}/lanes/{found.participant}/retry"
            raise Conflict(f"This turn came to no answer: let it try again first, with POST {retry}.")
        return found

    async def _check_files(self, caller: Caller, answer: Message, plan: Plan) -> None:
        """Refuse a model that cannot read what came with the question."""
        asked = (await self._runs.get(caller.tenant, answer.run or "")).message
        if asked is not None:
            files = (await self._discussions.message(answer.discussion, asked)).files or ()
            await self._attaching.check(caller.tenant, files, replace(plan, to=(answer.participant or "",)))


def _then(answer: Message) -> Anew:
    """Say which turn it was, and what could be seen before it."""
    if answer.participant is None or answer.run is None:
        raise NotFound(f"{answer.id!r} is no turn of a participant.")
    if answer.view is None or answer.upto is None:
        raise Conflict("A crash cut this answer off, and what was asked is not known: ask with a message.")
    return Anew(
        answer=answer.id,
        number=answer.number,
        run=answer.run,
        participant=answer.participant,
        stage=answer.stage or "answer",
        round=answer.round,
        view=answer.view,
        upto=answer.upto,
        instruction=answer.instruction or "",
    )
