"""The application: all routes, who may call them, and how errors are answered."""

from collections.abc import Mapping
from typing import Any

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from moot.model.accounts import Caller
from moot.server import meta_routes, openapi
from moot.server.account_routes import AccountRoutes
from moot.server.auth import Authentication, provide_caller
from moot.server.board_routes import BoardRoutes
from moot.server.budget_routes import BudgetRoutes
from moot.server.completions.problems import faced
from moot.server.completions.routes import CompletionRoutes
from moot.server.discussion_routes import DiscussionRoutes
from moot.server.event_routes import changes
from moot.server.file_routes import FileRoutes
from moot.server.key_routes import KeyRoutes
from moot.server.knowledge_routes import KnowledgeRoutes
from moot.server.lane_routes import LaneRoutes
from moot.server.limits import RateLimits, standard
from moot.server.line_up_routes import LineUpRoutes
from moot.server.mcp_routes import mcp
from moot.server.model_routes import ModelRoutes
from moot.server.persona_routes import PersonaRoutes
from moot.server.perspective_routes import PerspectiveRoutes
from moot.server.problems import HANDLERS
from moot.server.project_routes import ProjectRoutes
from moot.server.reading import JsonRequest, plain
from moot.server.run_routes import RunRoutes, activity
from moot.server.scrapers import Scrapers
from moot.server.stateless_routes import chat
from moot.server.tool_routes import ToolRoutes
from moot.server.transcript_routes import TranscriptRoutes
from moot.server.trial_routes import TrialRoutes
from moot.server.usage_routes import UsageRoutes
from moot.server.version_routes import VersionRoutes
from moot.store.accounts import Accounts

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
    meta_routes.healthz,
    meta_routes.readyz,
    meta_routes.metrics,
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
