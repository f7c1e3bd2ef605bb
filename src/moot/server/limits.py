"""How often one may call: a wide limit for everything, a strict one for what starts models, one for log-ins."""

import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address, ip_network
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from moot.model.accounts import Caller
from moot.model.errors import Busy
from moot.store.credentials import digest
from moot.store.rates import MINUTE, Rates

LOGINS_A_MINUTE = 10
REMEMBERED = 10_000

Connection = ASGIConnection[Any, Any, Any, Any]


class Recent:
    """The same count as in the database, in memory and for this process; whoever called least recently is forgotten."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free_at: OrderedDict[str, float] = OrderedDict()

    def take(self, name: str, a_minute: int) -> float | None:
        interval = MINUTE / a_minute
        now = self._clock()
        free_at = max(now, self._free_at.pop(name, now))
        wait = free_at - (now + MINUTE - interval + 0.001)
        self._free_at[name] = free_at if wait > 0 else free_at + interval
        if len(self._free_at) > REMEMBERED:
            self._free_at.popitem(last=False)
        return wait if wait > 0 else None


class RateLimits:
    """Each limit is so many a minute; all of them may come at once."""

    def __init__(
        self,
        rates: Rates,
        *,
        calls_a_minute: int,
        starts_a_minute: int,
        logins_a_minute: int = LOGINS_A_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = rates
        self._recent = Recent(clock)
        self._calls_a_minute = calls_a_minute
        self._starts_a_minute = starts_a_minute
        self._logins_a_minute = logins_a_minute

    def call(self, name: str) -> None:
        _allow(self._recent.take(name, self._calls_a_minute), "These are too many calls")

    async def start_models(self, account: str) -> None:
        wait = await self._rates.take(f"model/{account}", self._starts_a_minute)
        _allow(wait, "These are too many questions")

    async def log_in(self, name: str, address: str) -> None:
        """Count by address first: then one who tries many names leaves no trace of most of them."""
        for what in (f"login/from/{address}", f"login/as/{digest(name)}"):
            _allow(
                await self._rates.take(what, self._logins_a_minute), "These are too many attempts to log in"
            )


async def standard(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard every route: so many calls a minute for an account, or for an address that is not logged in."""
    user = connection.scope.get("user")
    _limits(connection).call(user.account if isinstance(user, Caller) else address(connection))


async def model_calls(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard routes that start models: so many a minute for an account, over all workers."""
    await _limits(connection).start_models(connection.user.account)


def address(connection: Connection) -> str:
    """Return where a call comes from; of IPv6, the network that one household or machine has."""
    host = connection.client.host if connection.client else ""
    try:
        known = ip_address(host)
    except ValueError:
        return host or "here"
    if isinstance(known, IPv4Address):
        return str(known)
    return str(known.ipv4_mapped or ip_network((int(known), 64), strict=False))


def _limits(connection: Connection) -> RateLimits:
    limits: RateLimits = connection.app.state["limits"]
    return limits


def _allow(wait: float | None, words: str) -> None:
    if wait is not None:
        raise Busy(f"{words} within a minute: try again in a moment.", retry_after=wait)
