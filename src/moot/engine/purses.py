"""Purses: an account pays for what is done outside of any run that is kept, as far as its budget goes."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager

from moot.engine.errands import Errands
from moot.engine.patience import patiently
from moot.model.accounts import Caller
from moot.model.money import Charge, Payer
from moot.store.charges import pay
from moot.store.database import Database


class AccountPurse:
    def __init__(self, database: Database, errands: Errands, caller: Caller) -> None:
        self._database = database
        self._errands = errands
        self._account = caller.account
        self._payer = Payer(tenant=caller.tenant, account=caller.account)

    def open(self) -> AbstractAsyncContextManager[None]:
        return self._errands.within_budget(self._account)

    async def pay(self, charges: Sequence[Charge]) -> None:
        """Write down what a turn cost as soon as it is known."""
        await patiently(lambda: pay(self._database, self._payer, *charges))


class Purses:
    def __init__(self, database: Database, errands: Errands) -> None:
        self._database = database
        self._errands = errands

    def of(self, caller: Caller) -> AccountPurse:
        return AccountPurse(self._database, self._errands, caller)
