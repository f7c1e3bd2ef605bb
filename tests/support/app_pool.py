"""Applications that tests use one after the other: to build one takes a quarter of a second."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import cast
from unittest.mock import MagicMock, patch

from litestar import Litestar
from litestar.di import Provide

from moot.app import lifecycle
from moot.app.container import Services
from moot.server.app import create_app
from moot.server.auth import Authentication
from moot.server.routes.health import MetricsAccess
from moot.types.accounts import Caller

FREE_APPS: list[Litestar] = []

CreateApp = Callable[[Services, Caller | None, str | None], Litestar]


@contextmanager
def pooled_app_factory() -> Iterator[CreateApp]:
    """Give what can be called instead of `create_app`, until the test has no more need of what it returned.

    The application is a new one, or one that another test used. It holds no state but its parts, which are replaced.
    """
    used: list[Litestar] = []

    def create(services: Services, local: Caller | None, metrics_token: str | None = None) -> Litestar:
        if not FREE_APPS:
            build_free_app()
        app = FREE_APPS.pop()
        used.append(app)
        _set_dependencies(
            app,
            Authentication(services.accounts, services.rate_limits, local),
            vars(services),
            {**vars(services), "metrics_access": MetricsAccess(metrics_token, is_local=local is not None)},
        )
        return app

    yield create
    for app in used:
        _set_dependencies(app, None, dict.fromkeys(app.state), {})
        FREE_APPS.append(app)


def build_free_app() -> None:
    """Build an application before anything needs it, for a process that is forked from this one."""
    FREE_APPS.append(create_app(Services(*[MagicMock()] * 3), None))


def use_prebuilt_app() -> None:
    """Let the server of this process have the application that was built ahead."""
    patch.object(lifecycle, "create_app", ExitStack().enter_context(pooled_app_factory())).start()


def _set_dependencies(
    app: Litestar,
    authentication: Authentication | None,
    state: Mapping[str, object],
    parts: Mapping[str, object],
) -> None:
    """Replace all parts. Those that are not named go, so that an application that is free holds nothing of a test."""
    (middleware,) = app.middleware
    vars(middleware).update(vars(authentication) if authentication else dict.fromkeys(vars(middleware)))
    app.state.update(state)
    for name, provide in app.dependencies.items():
        if name != "caller":  # which is found for each request
            cast("Provide", provide).value = parts.get(name)
