"""The application: all routes, who may call them, and how errors are answered."""

from collections.abc import Mapping
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from moot.server import openapi
from moot.server.auth import Authentication, provide_caller
from moot.server.errors import HANDLERS
from moot.server.mcp.routes import mcp
from moot.server.openai.errors import faced
from moot.server.openai.routes import CompletionRoutes
from moot.server.rate_limits import RateLimits, standard
from moot.server.request_body import JsonRequest, plain
from moot.server.routes import health
from moot.server.routes.accounts import AccountRoutes
from moot.server.routes.discussions import DiscussionRoutes
from moot.server.routes.evaluations import TrialRoutes
from moot.server.routes.events import changes
from moot.server.routes.files import FileRoutes
from moot.server.routes.health import Scrapers
from moot.server.routes.knowledge import KnowledgeRoutes
from moot.server.routes.models import ModelRoutes
from moot.server.routes.persona_suggestions import PerspectiveRoutes
from moot.server.routes.personas import PersonaRoutes
from moot.server.routes.presets import LineUpRoutes
from moot.server.routes.projects import ProjectRoutes
from moot.server.routes.provider_keys import KeyRoutes
from moot.server.routes.runs import LaneRoutes, RunRoutes, activity
from moot.server.routes.stateless import chat
from moot.server.routes.tools import ToolRoutes
from moot.server.routes.transcripts import TranscriptRoutes
from moot.server.routes.usage import BudgetRoutes, UsageRoutes
from moot.server.routes.versions import VersionRoutes
from moot.server.routes.whiteboard import BoardRoutes
from moot.store.accounts.accounts import Accounts
from moot.types.accounts import Caller

MAX_BODY = 1_000_000
ROUTES: list[ControllerRouterHandler] = [
    AccountRoutes,
    KeyRoutes,
    ModelRoutes,
    DiscussionRoutes,
    VersionRoutes,
    RunRoutes,
    LaneRoutes,
    ToolRoutes,
    BoardRoutes,
    TranscriptRoutes,
    chat,
    activity,
    FileRoutes,
    PersonaRoutes,
    ProjectRoutes,
    LineUpRoutes,
    KnowledgeRoutes,
    TrialRoutes,
    PerspectiveRoutes,
    UsageRoutes,
    BudgetRoutes,
    CompletionRoutes,
    health.healthz,
    health.readyz,
    health.metrics,
    changes,
    mcp,
]


def create_app(
    accounts: Accounts,
    limits: RateLimits,
    local: Caller | None,
    parts: Mapping[str, object],
    metrics_token: str | None = None,
) -> Litestar:
    """Build the application; handlers are given `parts` by name. A `local` caller needs no log-in."""
    given = {**parts, "scrapers": Scrapers(metrics_token, local=local is not None)}
    return Litestar(
        route_handlers=ROUTES,
        dependencies={"caller": provide_caller, **{name: _given(part) for name, part in given.items()}},
        middleware=[Authentication(accounts, limits, local)],
        guards=[standard, plain],
        exception_handlers={kind: faced(handler) for kind, handler in HANDLERS.items()},
        state=State({"limits": limits, "mcp": parts["mcp"]}),
        openapi_config=openapi.config(),
        request_class=JsonRequest,
        request_max_body_size=MAX_BODY,
        logging_config=None,
        debug=False,
    )


class _Given(Provide):
    """A dependency that is equal only to itself: Litestar compares all of them for every route."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _given(part: object) -> Provide:
    async def give() -> Any:
        return part

    return _Given(give, use_cache=True)
