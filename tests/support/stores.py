"""Stores of a test."""

from collections.abc import Sequence

from moot.engine.turns.token_estimates import ContextLimits
from moot.providers.registry import Registry
from moot.services.run_plans import RunPlanner
from moot.store.billing.usage import TokenRates
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.library.personas import Personas
from moot.store.library.projects import Projects
from moot.store.stores import Stores
from moot.types.personas import Persona
from tests.support.runs import WORKER

ENCRYPTION_SECRET = "8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u"


def make_run_planner(
    database: Database, builtin_personas: Sequence[Persona] = (), cls: type[RunPlanner] = RunPlanner
) -> RunPlanner:
    registry = Registry({}, {})
    limits = ContextLimits(TokenRates(database), registry, {})
    return cls(registry, Personas(database, builtin_personas), Projects(database), limits)


def make_stores(database: Database, budget: float | None = None, worker_id: str = WORKER) -> Stores:
    return Stores(
        database, Encryptor(ENCRYPTION_SECRET), worker_id=worker_id, builtin_personas=(), weekly_budget_usd=budget
    )
