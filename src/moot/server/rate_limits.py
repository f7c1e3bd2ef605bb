"""How often one may call: a wide limit for everything, strict ones for what starts models, one for log-ins."""

import time
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from moot.store.accounts.credentials import digest
from moot.store.rate_limits import Rates, Recent
from moot.types.accounts import Caller
from moot.types.errors import Busy

LOGINS_A_MINUTE = 10

Connection = ASGIConnection[Any, Any, Any, Any]


class RateLimits:
    """Some calls are few a minute: messages, of which those to a debate are fewer still, and other work for providers."""

    def __init__(
        self,
        rates: Rates,
        *,
        calls_a_minute: int,
        starts_a_minute: int,
        messages_a_minute: int,
        messages_burst: int,
        debates_a_minute: int,
        debates_burst: int,
        logins_a_minute: int = LOGINS_A_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = rates
        self._recent = Recent(clock)
        self._calls_a_minute = calls_a_minute
        self._starts_a_minute = starts_a_minute
        self._messages = (messages_a_minute, messages_burst)
        self._debates = (debates_a_minute, debates_burst)
        self._logins_a_minute = logins_a_minute

    def call(self, name: str) -> None:
        _allow(self._recent.take(name, self._calls_a_minute), "These are too many calls")

    async def start(self, account: str) -> None:
        wait = await self._rates.take(f"model/{account}", self._starts_a_minute)
        _allow(wait, "These are too many calls that ask providers")

    async def say(self, account: str) -> None:
        wait = await self._rates.take(f"message/{account}", *self._messages)
        _allow(wait, "These are too many messages")

    async def mode(self, account: str, mode: str) -> None:
        """Allow what starts a run in a mode: a debate asks everybody several times."""
        if mode != "debate":
            return
        wait = await self._rates.take(f"debate/{account}", *self._debates)
        _allow(wait, "These are too many debates")

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


async def start_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard other routes that let providers be asked: so many a minute for an account, over all workers."""
    await _limits(connection).start(connection.user.account)


async def message_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard routes that start runs: so many a minute for an account, over all workers."""
    await _limits(connection).say(connection.user.account)


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
        raise Busy(f"{words} at once: try again in {ceil(wait)} s.", retry_after=wait)
