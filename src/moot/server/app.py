"""The Litestar application: routes, dependencies, authentication and error handlers."""

from typing import Any, Protocol

from litestar import Litestar
from litestar.datastructures import State
from litestar.di import Provide
from litestar.types import ControllerRouterHandler

from moot.server import openapi
from moot.server.auth import Authentication, provide_caller
from moot.server.errors import EXCEPTION_HANDLERS
from moot.server.mcp.routes import mcp_endpoint
from moot.server.openai.errors import wrap_error_handler
from moot.server.openai.routes import CompletionRoutes
from moot.server.rate_limits import RateLimits, request_rate
from moot.server.requests import JsonRequest, reject_nul
from moot.server.routes import health
from moot.server.routes.accounts import AccountRoutes
from moot.server.routes.discussions import DiscussionRoutes
from moot.server.routes.evaluations import EvaluationRoutes
from moot.server.routes.events import stream_events
from moot.server.routes.files import FileRoutes
from moot.server.routes.health import MetricsAccess
from moot.server.routes.knowledge import KnowledgeRoutes
from moot.server.routes.persona_suggestions import PersonaSuggestionRoutes
from moot.server.routes.personas import PersonaRoutes
from moot.server.routes.presets import PresetRoutes
from moot.server.routes.projects import ProjectRoutes
from moot.server.routes.providers import ProviderRoutes
from moot.server.routes.runs import LaneRoutes, RunRoutes, list_activity
from moot.server.routes.stateless import stream_chat
from moot.server.routes.tools import ToolRoutes
from moot.server.routes.transcripts import TranscriptRoutes
from moot.server.routes.usage import BudgetRoutes, UsageRoutes
from moot.server.routes.versions import VersionRoutes
from moot.server.routes.whiteboard import WhiteboardRoutes
from moot.store.accounts.accounts import Accounts
from moot.types.accounts import Caller

MAX_BODY = 1_000_000
ROUTES: list[ControllerRouterHandler] = [
    AccountRoutes,
    ProviderRoutes,
    DiscussionRoutes,
    VersionRoutes,
    RunRoutes,
    LaneRoutes,
    ToolRoutes,
    WhiteboardRoutes,
    TranscriptRoutes,
    stream_chat,
    list_activity,
    FileRoutes,
    PersonaRoutes,
    ProjectRoutes,
    PresetRoutes,
    KnowledgeRoutes,
    EvaluationRoutes,
    PersonaSuggestionRoutes,
    UsageRoutes,
    BudgetRoutes,
    CompletionRoutes,
    health.healthz,
    health.readyz,
    health.metrics,
    stream_events,
    mcp_endpoint,
]


class AppServices(Protocol):
    """What the middleware uses. Guards and handlers use more, by name."""

    accounts: Accounts
    rate_limits: RateLimits


def create_app(services: AppServices, local_caller: Caller | None, metrics_token: str | None = None) -> Litestar:
    """Inject the attributes of `services` into handlers by parameter name. With a `local_caller`, requests need no login."""
    metrics_access = MetricsAccess(metrics_token, is_local=local_caller is not None)
    return Litestar(
        route_handlers=ROUTES,
        dependencies={
            "caller": provide_caller,
            "metrics_access": _provide_constant(metrics_access),
            **{name: _provide_constant(value) for name, value in vars(services).items()},
        },
        middleware=[Authentication(services.accounts, services.rate_limits, local_caller)],
        guards=[request_rate, reject_nul],
        exception_handlers={kind: wrap_error_handler(handler) for kind, handler in EXCEPTION_HANDLERS.items()},
        state=State(vars(services)),
        openapi_config=openapi.create_openapi_config(),
        request_class=JsonRequest,
        request_max_body_size=MAX_BODY,
        logging_config=None,
        debug=False,
    )


class _ConstantProvide(Provide):
    """A dependency compared by identity, because Litestar compares all dependencies for every route."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _provide_constant(value: object) -> Provide:
    async def provide_value() -> Any:
        return value

    return _ConstantProvide(provide_value, use_cache=True)
