"""`moot serve` in a process of its own for every test file, on SQLite and on Postgres."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from moot.services import image_renderer
from moot.testing.provider_server import serve_provider
from tests.api.api_client import ApiClient, RecordingProviderServer
from tests.support.databases import SLOW_ON_POSTGRES, migrated_database_url
from tests.support.moot_server import run_moot_server

SETTINGS = """\
[providers.lab]
api = "openai"
base_url = "{url}/v1"

[providers.claude]
api = "anthropic"
base_url = "{url}/v1"

[providers.gemini]
api = "google"
base_url = "{url}/v1beta"

[rates]
model_requests_per_minute = 1_000_000
messages_per_minute = 1_000_000
debates_per_minute = 1_000_000
model_calls_per_minute = 1_000_000
"""


def allow_slow_rendering() -> None:
    """Give the image renderer time to start on a busy machine. Called in the process of the server."""
    image_renderer.RENDER_TIMEOUT_SECONDS = 120.0


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def api_client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[ApiClient]:
    folder: Path = tmp_path_factory.mktemp("api")
    provider_server = RecordingProviderServer()
    async with (
        serve_provider(provider_server) as provider_url,
        migrated_database_url(request.param, folder) as url,
        run_moot_server(folder, url, allow_slow_rendering, settings=SETTINGS.format(url=provider_url)) as server,
    ):
        yield ApiClient(server, provider_server)
        assert '"error"' not in server.read_log(), server.read_log()
