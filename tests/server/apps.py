"""Applications that tests use one after the other: to build one takes a quarter of a second."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from litestar import Litestar
from litestar.di import Provide

from moot.model.accounts import Caller
from moot.server.app import create_app
from moot.server.auth import Authentication
from moot.server.limits import RateLimits
from moot.server.scrapers import Scrapers
from moot.store.accounts import Accounts

FREE: list[Litestar] = []

Create = Callable[[Accounts, RateLimits, Caller | None, Mapping[str, object], str | None], Litestar]


@contextmanager
def lent() -> Iterator[Create]:
    """Give what can be called instead of `create_app`, until the test has no more need of what it returned.

    The application is a new one, or one that another test used. It holds no state but its parts, which are replaced.
    """
    used: list[Litestar] = []

    def create(
        accounts: Accounts,
        limits: RateLimits,
        local: Caller | None,
        parts: Mapping[str, object],
        metrics_token: str | None = None,
    ) -> Litestar:
        if FREE:
            app = FREE.pop()
            _furnish(app, Authentication(accounts, limits, local), limits, parts)
            _give(app, "scrapers", Scrapers(metrics_token, local=local is not None))
        else:
            app = create_app(accounts, limits, local, parts, metrics_token)
        used.append(app)
        return app

    yield create
    FREE.extend(used)


def _furnish(
    app: Litestar, authentication: Authentication, limits: RateLimits, parts: Mapping[str, object]
) -> None:
    (middleware,) = app.middleware
    vars(middleware).update(vars(authentication))
    app.state.update({"limits": limits, "mcp": parts["mcp"]})
    for name, part in parts.items():
        _give(app, name, part)


def _give(app: Litestar, name: str, part: object) -> None:
    cast("Provide", app.dependencies[name]).value = part
