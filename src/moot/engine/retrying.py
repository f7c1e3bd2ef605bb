"""Letting what failed in a run be tried again: within the budget of whoever wants it, and by whom it concerns."""

from collections.abc import Callable

from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.hall import Hall
from moot.engine.treasury import Treasury
from moot.model.accounts import Caller
from moot.model.discussions import Run
from moot.store.retries import Retries
from moot.store.runs import Runs


class Retrying:
    """`start` lets a run be executed in a revision."""

    def __init__(
        self,
        hall: Hall,
        runs: Runs,
        retries: Retries,
        treasury: Treasury,
        start: Callable[[str, int], None],
    ) -> None:
        self._hall = hall
        self._runs = runs
        self._retries = retries
        self._treasury = treasury
        self._start = start

    async def again(
        self, caller: Caller, id: str, participant: str | None = None, model: str | None = None
    ) -> Run:
        """Let one participant try again, perhaps with another model, or all that failed."""
        self._hall.refuse_if_leaving()
        before = await self._runs.get(caller.tenant, id)
        plan = await self._runs.plan(id)
        asked = replace(plan, to=(participant,)) if participant in [who.id for who in plan.speaking] else plan
        due = await self._treasury.due(caller, asked, None, before.discussion)

        async def reserve(connection: AsyncConnection) -> None:
            if due is not None:
                await self._treasury.reserve(connection, caller, id, due)

        run = await self._retries.again(caller.tenant, id, participant, model, reserve)
        if run.status == "waiting":  # else it is going on, and hears of it itself
            self._start(run.id, run.revision)
        return run
