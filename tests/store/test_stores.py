from pathlib import Path

from tests.support.databases import open_migrated_database
from tests.support.runs import WORKER
from tests.support.stores import make_stores


async def test_all_stores_use_one_database_and_worker(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        stores = make_stores(database)
        parts = [part for name, part in vars(stores).items() if name not in {"database", "worker_id"}]
        assert {id(part._database) for part in parts} == {id(database)}
        assert {stores.retries._worker, stores.applied_improvements._worker} == {WORKER}
