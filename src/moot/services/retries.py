"""Letting what failed in a run be tried again: within the budget of whoever wants it, and by whom it concerns."""

from collections.abc import Callable

from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.attachments import Attaching
from moot.engine.turns.token_estimates import Measuring
from moot.services.billing import Treasury
from moot.services.discussions import Hall
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.runs.retries import Retries
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.discussions import Run
from moot.types.run_plan import Plan


class Retrying:
    """`start` lets a run be executed in a revision."""

    def __init__(
        self,
        database: Database,
        hall: Hall,
        retries: Retries,
        treasury: Treasury,
        attaching: Attaching,
        measuring: Measuring,
        start: Callable[[str, int], None],
    ) -> None:
        self._runs = Runs(database)
        self._discussions = Discussions(database)
        self._hall = hall
        self._retries = retries
        self._treasury = treasury
        self._attaching = attaching
        self._measuring = measuring
        self._start = start

    async def again(
        self, caller: Caller, id: str, participant: str | None = None, model: str | None = None
    ) -> Run:
        """Let one participant try again, perhaps with another model, or all that failed."""
        self._hall.refuse_if_leaving()
        before = await self._runs.get(caller.tenant, id)
        plan = await self._runs.plan(id)
        measures = await self._measuring.of([model], plan.mode) if model is not None else {}
        if participant is not None and model is not None:
            plan = plan.with_model(participant, model, measures)
            await self._check_files(caller, before, plan)
        due = await self._treasury.due(caller, plan, None, before.discussion)

        async def reserve(connection: AsyncConnection) -> None:
            await self._treasury.reserve(connection, caller, id, due)

        again = await self._retries.again(caller.tenant, id, participant, model, reserve, measures)
        if again.begins:  # else it is going on, and hears of it itself
            self._start(id, again.run.revision)
        return again.run

    async def _check_files(self, caller: Caller, run: Run, plan: Plan) -> None:
        """Refuse a model that cannot read what came with the question."""
        if run.message is not None:
            asked = await self._discussions.message(run.discussion, run.message)
            await self._attaching.check(caller.tenant, asked.files or (), plan)
