from pathlib import Path
from unittest.mock import MagicMock

import pytest

from moot.app.container import Engine, Services
from moot.providers.registry import Registry
from moot.settings import Settings
from moot.store.database import Database
from moot.types.errors import UsageError
from tests.support.databases import open_migrated_database
from tests.support.stores import make_stores
from web.api_types import STRUCTS


async def make_services(database: Database, settings: Settings) -> Services:
    stores = make_stores(database)
    async with Registry({}, {}) as registry:
        return Services(settings, stores, Engine(settings, stores, registry, {}, lambda: None))


async def test_services_reject_unknown_fallback_model(tmp_path: Path) -> None:
    settings = Settings(fallback={"scripted/echo": ("antropic/claude",)})
    async with open_migrated_database("sqlite", tmp_path) as database:
        with pytest.raises(UsageError, match=r"fallback of scripted/echo.*Did you mean anthropic"):
            await make_services(database, settings)


async def test_services_reject_unknown_task_model(tmp_path: Path) -> None:
    async with open_migrated_database("sqlite", tmp_path) as database:
        with pytest.raises(UsageError, match=r"^task_model in the settings: .*Did you mean anthropic"):
            await make_services(database, Settings(task_model="antropic/claude"))


def test_no_request_field_has_name_of_service() -> None:
    """Litestar would inject the service for such a field of a request."""
    request_fields = {
        field.encode_name
        for shape in STRUCTS
        if shape.cls.__struct_config__.forbid_unknown_fields
        for field in shape.fields
    }
    assert request_fields.isdisjoint(vars(Services(*[MagicMock()] * 3)))
