"""Model tasks: model calls outside a run, such as titles, exports and evaluations.

Every call is charged to its payer, also if it fails or is cancelled.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.turns.model_caller import ModelCaller, discard_events
from moot.engine.turns.structured_output import StructuredResult, structured_completion
from moot.prompts.tasks.task import accept_any_answer
from moot.providers.registry import ResolvedModel
from moot.store.billing.usage import record_charges
from moot.store.stores import Stores
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Emit
from moot.types.billing import CallPurpose, Charge, Payer
from moot.types.events import TurnEnded
from moot.types.requests import ModelRequest

T = TypeVar("T", bound=Struct)
A = TypeVar("A", bound=StructuredResult[Any] | TurnEnded)


class ModelTasks:
    def __init__(self, stores: Stores, model_caller: ModelCaller) -> None:
        self._model_caller = model_caller
        self._budgets = stores.budgets
        self.record_charges = partial(record_charges, stores.database)
        # Weak values: a lock is removed with its last task.
        self._account_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def within_budget(self, account: str) -> AsyncIterator[None]:
        """Raise OverBudget if the budget is spent.

        An account with a budget runs one task at a time, so that each task sees the charges of the previous one.
        """
        if await self._budgets.get_limit(account) is None:
            yield
            return
        lock = self._account_locks.setdefault(account, asyncio.Lock())
        async with lock:
            await self._budgets.reject_if_spent(account)
            yield

    async def run_text_task(
        self,
        payer: Payer,
        purpose: CallPurpose,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        stop: StopSignal,
    ) -> TurnEnded:
        """Complete a request as plain text. Raises OverBudget if the budget is spent.

        Use `stop` to abort the task: cancellation would lose the charge.
        """
        if payer.account is not None:
            await self._budgets.reject_if_spent(payer.account)
        ended = await self._model_caller.complete_request(chain, request, stop)
        await self.record_charges(payer, _charge_for(purpose, ended))
        return ended

    async def run_structured_task(
        self,
        payer: Payer,
        purpose: CallPurpose,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        type_: type[T],
        check: Callable[[T], str | None] = accept_any_answer,
    ) -> StructuredResult[T]:
        """Complete a request as `type_`; `check` returns an error message for an invalid value, or None.

        The charge is recorded even if the answer is invalid or the caller is cancelled.
        """
        stop = StopSignal()
        call = structured_completion(self._model_caller, chain, request, type_, check, stop)
        return await self._run_and_charge(payer, purpose, call, stop)

    async def stream_text_task(
        self,
        payer: Payer,
        purpose: CallPurpose,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        emit: Emit = discard_events,
    ) -> TurnEnded:
        """Complete a request as plain text and pass its events to `emit`. Cancellation keeps the charge."""
        stop = StopSignal()
        return await self._run_and_charge(
            payer, purpose, self._model_caller.complete_request(chain, request, stop, emit), stop
        )

    async def _run_and_charge(
        self, payer: Payer, purpose: CallPurpose, call: Coroutine[None, None, A], stop: StopSignal
    ) -> A:
        """On cancellation, stop the call and wait until its charge is recorded."""

        async def charge_when_done() -> A:
            answer = await call
            await self.record_charges(payer, _charge_for(purpose, answer))
            return answer

        # A separate task: the provider bills the tokens of a cancelled request too, so the charge must be stored.
        task = asyncio.create_task(charge_when_done())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.request_stop()
            await asyncio.wait({task})
            raise


def _charge_for(purpose: CallPurpose, answer: StructuredResult[Any] | TurnEnded) -> Charge:
    return Charge(purpose=purpose, model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd)
