"""Errands: a model is asked for something outside of any run, and whoever wants it is charged for it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.turns.model_caller import ModelCaller, discard_events
from moot.engine.turns.structured_output import StructuredResult, structured_completion
from moot.engine.waits import retry_while_unavailable
from moot.prompts.tasks.task import accept_any_answer
from moot.providers.registry import ResolvedModel
from moot.store.billing.budgets import Budgets
from moot.store.billing.charges import record_charges
from moot.store.database import Database
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Emit
from moot.types.billing import CallPurpose, Charge, Payer
from moot.types.events import TurnEnded
from moot.types.requests import ModelRequest

T = TypeVar("T", bound=Struct)
A = TypeVar("A", bound=StructuredResult[Any] | TurnEnded)


class ModelTasks:
    def __init__(self, database: Database, model_caller: ModelCaller, budgets: Budgets) -> None:
        self._database = database
        self._model_caller = model_caller
        self._budgets = budgets
        self._account_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._tasks: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def within_budget(self, account: str) -> AsyncIterator[None]:
        """Refuse who has nothing left. Who has a budget runs one errand at a time, and so sees what the last one cost."""
        if await self._budgets.get_limit(account) is None:
            yield
            return
        turn = self._account_locks.setdefault(account, asyncio.Lock())
        async with turn:
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
        """Ask for plain words; who has nothing left is refused, and a stop is how to leave: what was said is paid."""
        if payer.account is not None:
            await self._budgets.reject_if_spent(payer.account)
        ended = await self._model_caller.complete_request(chain, request, stop)
        paid = _charge_for(purpose, ended)
        await retry_while_unavailable(lambda: record_charges(self._database, payer, paid))
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
        """Ask, and charge what that took, whatever came of it; whoever leaves meanwhile pays for what was said."""
        stop = StopSignal()
        asking = structured_completion(self._model_caller, chain, request, type_, check, stop)
        return await self._run_and_charge(payer, purpose, asking, stop)

    async def stream_text_task(
        self,
        payer: Payer,
        purpose: CallPurpose,
        chain: Sequence[ResolvedModel],
        request: ModelRequest,
        emit: Emit = discard_events,
    ) -> TurnEnded:
        """Ask for plain words, which `emit` hears as they come, and charge them as `ask` does."""
        stop = StopSignal()
        return await self._run_and_charge(
            payer, purpose, self._model_caller.complete_request(chain, request, stop, emit), stop
        )

    async def _run_and_charge(
        self, payer: Payer, purpose: CallPurpose, call: Coroutine[None, None, A], stop: StopSignal
    ) -> A:
        """Wait for an answer and for its payment; leaving stops it, and what was said until then is paid."""

        async def charge_when_done() -> A:
            answer = await call
            due = _charge_for(purpose, answer)
            await retry_while_unavailable(lambda: record_charges(self._database, payer, due))
            return answer

        doing = asyncio.create_task(charge_when_done())
        self._tasks.add(doing)
        doing.add_done_callback(self._tasks.discard)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            stop.request_stop()
            await asyncio.wait({doing})
            raise


def _charge_for(purpose: CallPurpose, answer: StructuredResult[Any] | TurnEnded) -> Charge:
    return Charge(purpose=purpose, model=answer.model, usage=answer.usage, cost=answer.cost)
