"""Stores of a test."""

from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.store.stores import Stores
from tests.support.runs import WORKER

ENCRYPTION_SECRET = "8Zq1vW0nT5yRk3LxPb7cJd9mHs2gFa4u"


def make_stores(database: Database, budget: float | None = None, worker_id: str = WORKER) -> Stores:
    return Stores(
        database, Encryptor(ENCRYPTION_SECRET), worker_id=worker_id, builtin_personas=(), weekly_budget_usd=budget
    )
