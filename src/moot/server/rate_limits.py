"""Rate limits for requests, model requests, messages, debates and logins."""

import time
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address, ip_network
from math import ceil
from typing import Any

from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler

from moot.settings import RateSettings
from moot.store.accounts.accounts import hash_secret
from moot.store.rate_limits import MemoryRateLimiter, RateLimiter
from moot.types.accounts import Caller
from moot.types.errors import RateLimited
from moot.types.modes import MODES

LOGINS_PER_MINUTE = 10

Connection = ASGIConnection[Any, Any, Any, Any]


class RateLimits:
    """Each method counts one use and raises `RateLimited` above the limit.

    `count_request` counts per process, in memory. The other limits use `rates`, which all workers share.
    """

    def __init__(
        self,
        rates: RateLimiter,
        settings: RateSettings,
        *,
        logins_per_minute: int = LOGINS_PER_MINUTE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rates = rates
        self._settings = settings
        self._recent = MemoryRateLimiter(clock)
        self._logins_per_minute = logins_per_minute

    def count_request(self, name: str) -> None:
        _raise_if_limited(self._recent.try_acquire(name, self._settings.requests_per_minute), "Too many requests")

    async def count_model_request(self, account: str) -> None:
        wait = await self._rates.try_acquire(f"model/{account}", self._settings.model_requests_per_minute)
        _raise_if_limited(wait, "Too many requests to model providers")

    async def count_message(self, account: str) -> None:
        rates = self._settings
        wait = await self._rates.try_acquire(f"message/{account}", rates.messages_per_minute, rates.messages_burst)
        _raise_if_limited(wait, "Too many messages")

    async def count_run_start(self, account: str, mode: str) -> None:
        """Only debates have this extra limit, because a debate calls every model several times."""
        if not MODES[mode].is_costly:
            return
        rates = self._settings
        wait = await self._rates.try_acquire(f"debate/{account}", rates.debates_per_minute, rates.debates_burst)
        _raise_if_limited(wait, "Too many debates")

    async def count_login(self, name: str, address: str) -> None:
        """Count by address first, so that a client that tries many names does not create a counter for each."""
        for key in (f"login/from/{address}", f"login/as/{hash_secret(name)}"):
            _raise_if_limited(await self._rates.try_acquire(key, self._logins_per_minute), "Too many login attempts")


async def request_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard of every route. Counts by account, or by client address if the route needs no login."""
    user = connection.scope.get("user")
    _rate_limits(connection).count_request(user.account if isinstance(user, Caller) else client_address(connection))


async def model_request_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard of routes that call providers outside of a run."""
    await _rate_limits(connection).count_model_request(connection.user.account)


async def message_rate(connection: Connection, _: BaseRouteHandler) -> None:
    """Guard of routes that start runs."""
    await _rate_limits(connection).count_message(connection.user.account)


def client_address(connection: Connection) -> str:
    """Return the client's IP address. For IPv6, return its /64 network, because one client can use all of it."""
    host = connection.client.host if connection.client else ""
    try:
        known = ip_address(host)
    except ValueError:
        return host or "here"
    if isinstance(known, IPv4Address):
        return str(known)
    return str(known.ipv4_mapped or ip_network((int(known), 64), strict=False))


def _rate_limits(connection: Connection) -> RateLimits:
    limits: RateLimits = connection.app.state["rate_limits"]
    return limits


def _raise_if_limited(wait: float | None, message: str) -> None:
    if wait is not None:
        raise RateLimited(f"{message}. Try again in {ceil(wait)} s.", retry_after=wait)
