"""Errands: a model is asked for something outside of any run, and whoever wants it is charged for it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.turns.model_caller import Speaker, unheard
from moot.engine.turns.structured_output import Shaped, structured
from moot.engine.waits import patiently
from moot.prompts.tasks.task import anything
from moot.providers.registry import Resolved
from moot.store.billing.budgets import Budgets
from moot.store.billing.charges import pay
from moot.store.database import Database
from moot.streaming.cancellation import Stop
from moot.streaming.turn_stream import Emit
from moot.types.billing import Charge, Payer, Purpose
from moot.types.events import TurnEnded
from moot.types.requests import ModelRequest

T = TypeVar("T", bound=Struct)
A = TypeVar("A", bound=Shaped[Any] | TurnEnded)


class Errands:
    def __init__(self, database: Database, speaker: Speaker, budgets: Budgets) -> None:
        self._database = database
        self._speaker = speaker
        self._budgets = budgets
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._asking: set[asyncio.Task[Any]] = set()

    @asynccontextmanager
    async def within_budget(self, account: str) -> AsyncIterator[None]:
        """Refuse who has nothing left. Who has a budget runs one errand at a time, and so sees what the last one cost."""
        if await self._budgets.limit(account) is None:
            yield
            return
        turn = self._turns.setdefault(account, asyncio.Lock())
        async with turn:
            await self._budgets.refuse_if_spent(account)
            yield

    async def say(
        self, payer: Payer, purpose: Purpose, chain: Sequence[Resolved], request: ModelRequest, stop: Stop
    ) -> TurnEnded:
        """Ask for plain words; who has nothing left is refused, and a stop is how to leave: what was said is paid."""
        if payer.account is not None:
            await self._budgets.refuse_if_spent(payer.account)
        ended = await self._speaker.answer(chain, request, stop)
        paid = _charge(purpose, ended)
        await patiently(lambda: pay(self._database, payer, paid))
        return ended

    async def ask(
        self,
        payer: Payer,
        purpose: Purpose,
        chain: Sequence[Resolved],
        request: ModelRequest,
        type_: type[T],
        check: Callable[[T], str | None] = anything,
    ) -> Shaped[T]:
        """Ask, and charge what that took, whatever came of it; whoever leaves meanwhile pays for what was said."""
        stop = Stop()
        asking = structured(self._speaker, chain, request, type_, check, stop)
        return await self._paid_for(payer, purpose, asking, stop)

    async def answer(
        self,
        payer: Payer,
        purpose: Purpose,
        chain: Sequence[Resolved],
        request: ModelRequest,
        emit: Emit = unheard,
    ) -> TurnEnded:
        """Ask for plain words, which `emit` hears as they come, and charge them as `ask` does."""
        stop = Stop()
        return await self._paid_for(payer, purpose, self._speaker.answer(chain, request, stop, emit), stop)

    async def _paid_for(
        self, payer: Payer, purpose: Purpose, asking: Coroutine[None, None, A], stop: Stop
    ) -> A:
        """Wait for an answer and for its payment; leaving stops it, and what was said until then is paid."""

        async def paid() -> A:
            answer = await asking
            due = _charge(purpose, answer)
            await patiently(lambda: pay(self._database, payer, due))
            return answer

        doing = asyncio.create_task(paid())
        self._asking.add(doing)
        doing.add_done_callback(self._asking.discard)
        try:
            return await asyncio.shield(doing)
        except asyncio.CancelledError:
            stop.request()
            await asyncio.wait({doing})
            raise


def _charge(purpose: Purpose, answer: Shaped[Any] | TurnEnded) -> Charge:
    return Charge(purpose=purpose, model=answer.model, usage=answer.usage, cost=answer.cost)
