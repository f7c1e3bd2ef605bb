"""How often one may call: a wide limit for everything, strict ones for what starts models, one for log-ins."""

import time
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from moot.store.accounts.credentials import hash_secret
from moot.store.rate_limits import MemoryRateLimiter, RateLimiter
from moot.types.accounts import Caller
from moot.types.errors import RateLimited

LOGINS_PER_MINUTE = 10

Connection = ASGIConnection[Any, Any, Any, Any]


class RateLimits:
    """Some calls are few a minute: messages, of which those to a debate are fewer still, and other work for providers."""

    def __init__(
        self,
        rates: RateLimiter,
        *,
        requests_per_minute: int,
        model_requests_per_minute: int,
        messages_per_minute: int,
        messages_burst: int,
        debates_per_minute: int,
        debates_burst: int,
        logins_per_minute: int = LOGINS_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = rates
        self._recent = MemoryRateLimiter(clock)
        self._requests_per_minute = requests_per_minute
        self._model_requests_per_minute = model_requests_per_minute
        self._message_rate = (messages_per_minute, messages_burst)
        self._debate_rate = (debates_per_minute, debates_burst)
        self._logins_per_minute = logins_per_minute

    def count_request(self, name: str) -> None:
        _raise_if_limited(
            self._recent.try_acquire(name, self._requests_per_minute), "These are too many calls"
        )

    async def count_model_request(self, account: str) -> None:
        wait = await self._rates.try_acquire(f"model/{account}", self._model_requests_per_minute)
        _raise_if_limited(wait, "These are too many calls that ask providers")

    async def count_message(self, account: str) -> None:
        wait = await self._rates.try_acquire(f"message/{account}", *self._message_rate)
        _raise_if_limited(wait, "These are too many messages")

    async def count_run_start(self, account: str, mode: str) -> None:
        """Allow what starts a run in a mode: a debate asks everybody several times."""
        if mode != "debate":
            return
        wait = await self._rates.try_acquire(f"debate/{account}", *self._debate_rate)
        _raise_if_limited(wait, "These are too many debates")

    async def count_login(self, name: str, address: str) -> None:
        """Count by address first: then one who tries many names leaves no trace of most of them."""
        for what in (f"login/from/{address}", f"login/as/{hash_secret(name)}"):
            _raise_if_limited(
                await self._rates.try_acquire(what, self._logins_per_minute),
                "These are too many attempts to log in",
            )


async def request_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard every route: so many calls a minute for an account, or for an address that is not logged in."""
    user = connection.scope.get("user")
    _rate_limits(connection).count_request(
        user.account if isinstance(user, Caller) else client_address(connection)
    )


async def model_request_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard other routes that let providers be asked: so many a minute for an account, over all workers."""
    await _rate_limits(connection).count_model_request(connection.user.account)


async def message_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard routes that start runs: so many a minute for an account, over all workers."""
    await _rate_limits(connection).count_message(connection.user.account)


def client_address(connection: Connection) -> str:
    """Return where a call comes from; of IPv6, the network that one household or machine has."""
    host = connection.client.host if connection.client else ""
    try:
        known = ip_address(host)
    except ValueError:
        return host or "here"
    if isinstance(known, IPv4Address):
        return str(known)
    return str(known.ipv4_mapped or ip_network((int(known), 64), strict=False))


def _rate_limits(connection: Connection) -> RateLimits:
    limits: RateLimits = connection.app.state["limits"]
    return limits


def _raise_if_limited(wait: float | None, message: str) -> None:
    if wait is not None:
        raise RateLimited(f"{message} at once: try again in {ceil(wait)} s.", retry_after=wait)
