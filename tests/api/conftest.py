"""`moot serve` as its users have it: a process of its own for every journey, on SQLite and on Postgres."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from moot.services import image_renderer
from moot.testing.provider_server import serve_provider as lab_serving
from tests.api.journey import Journey, RecordingLab
from tests.databases import SLOW_ON_POSTGRES, migrated_url
from tests.serving import serving

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
starts_a_minute = 1_000_000
messages_a_minute = 1_000_000
debates_a_minute = 1_000_000
model_calls_a_minute = 1_000_000
"""


def patient() -> None:
    """Give a painter the time to start on a busy machine, in the process of the server."""
    image_renderer.RENDER_TIMEOUT_SECONDS = 120.0


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def journey(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Journey]:
    folder: Path = tmp_path_factory.mktemp("api")
    lab = RecordingLab()
    async with (
        lab_serving(lab) as lab_url,
        migrated_url(request.param, folder) as url,
        serving(folder, url, patient, settings=SETTINGS.format(url=lab_url)) as server,
    ):
        yield Journey(server, lab)
        assert '"error"' not in server.logged(), server.logged()
