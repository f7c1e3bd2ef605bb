import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from httpx import ASGITransport, AsyncClient

from moot.app import lifecycle
from moot.app.lifecycle import Worker, open_worker
from moot.engine.worker_monitor import worker_lock_folder
from moot.providers.registry import Registry
from moot.services.discussions import StartedRun
from moot.services.run_plans import NewDiscussion, ParticipantInput
from moot.settings import Settings, data_folder
from moot.store.database import Database
from moot.store.encryption import Encryptor
from moot.types.errors import BadSettings, DatabaseUnavailable
from tests.support.databases import SLOW_ON_POSTGRES, DatabaseKind, database_url, open_migrated_database
from tests.support.fast_passwords import fast_password_hashing  # noqa: F401 - a fixture
from tests.support.stores import ENCRYPTION_SECRET

ADDRESS = "http://127.0.0.1:8642/"
ENVIRONMENT = {"MOOT_SECRET": ENCRYPTION_SECRET}


@contextlib.asynccontextmanager
async def make_worker(database: Database, settings: Settings) -> AsyncIterator[Worker]:
    async with Registry({}, {}) as registry:
        yield Worker(settings, database, registry, Encryptor(ENCRYPTION_SECRET))


async def anonymous_status(worker: Worker, *, loopback: bool) -> int:
    """Return the status of a request without credentials."""
    app = await worker.build_asgi_app(loopback=loopback)
    async with AsyncClient(transport=ASGITransport(app=app), base_url="http://localhost") as client:
        return (await client.get("/api/me")).status_code


@pytest.mark.parametrize(
    ("settings", "loopback", "status"),
    [
        (Settings(), True, 200),
        (Settings(), False, 401),
        (Settings(auth="local"), True, 200),
        (Settings(auth="accounts"), True, 401),
        (Settings(allowed_hosts=("moot.example",)), True, 401),
        (Settings(allowed_hosts=("moot.example",), auth="local"), True, 200),
    ],
)
async def test_login_is_required_except_for_local_user(
    tmp_path: Path, settings: Settings, loopback: bool, status: int
) -> None:
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        make_worker(database, settings) as worker,
    ):
        assert await anonymous_status(worker, loopback=loopback) == status


async def test_build_asgi_app_rejects_public_address_without_accounts(tmp_path: Path) -> None:
    settings = Settings(auth="local")
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        make_worker(database, settings) as worker,
    ):
        with pytest.raises(BadSettings, match="allows only a loopback"):
            await worker.build_asgi_app(loopback=False)


async def test_build_asgi_app_warns_when_accounts_are_required_but_none_exist(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(auth="accounts")
    async with (
        open_migrated_database("sqlite", tmp_path) as database,
        make_worker(database, settings) as worker,
    ):
        await worker.stores.accounts.ensure_local_account()  # it exists if Moot ran without accounts before
        await worker.build_asgi_app(loopback=True)
        assert "moot user add" in caplog.text
        caplog.clear()
        await worker.stores.accounts.create_account("ada", "correct horse")
        await worker.build_asgi_app(loopback=True)
        assert caplog.text == ""


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path


async def run_discussion(worker: Worker, persona: str | None, *, default_persona: str | None = None) -> StartedRun:
    """Start a discussion with one participant, and wait for the end of its run."""
    services = worker.services
    caller = await services.accounts.ensure_local_account()
    (who,) = await services.run_planner.assign_participants(
        caller.tenant, [ParticipantInput(model="scripted/echo", persona=persona)]
    )
    opening = NewDiscussion(
        message="What is a moot?", participants=(who,), mode="single", rounds=1, persona=default_persona
    )
    started = await services.discussion_service.create(caller, opening)
    received = [frame async for frames in services.event_hub.subscribe(started.run.id, 0) for frame in frames]
    assert b'"run_ended"' in received[-1]
    return started


async def wait_for_persona_uses(worker: Worker, persona: str, uses: int) -> None:
    """Wait for the count, which is stored after the answer."""
    async with asyncio.timeout(60):
        while (await worker.stores.personas.get_persona("local", persona)).uses < uses:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_open_worker_answers_and_counts_persona_uses(kind: DatabaseKind, data_home: Path) -> None:
    async with (
        database_url(kind, data_home) as url,
        open_worker(Settings(database_url=url), ENVIRONMENT, ADDRESS) as worker,
    ):
        persona = (await worker.stores.personas.list_personas("local", cursor=None, limit=1)).personas[0].id
        started = await run_discussion(worker, persona)
        messages = await worker.stores.discussions.list_messages(started.discussion.id)
        assert [message.content for message in messages] == ["What is a moot?"] * 2
        await wait_for_persona_uses(worker, persona, 1)
        await run_discussion(worker, None, default_persona=persona)
        await wait_for_persona_uses(worker, persona, 2)
        await worker.shut_down()


async def test_open_worker_rejects_database_file_in_use(data_home: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{data_home / 'moot.db'}")
    async with open_worker(settings, ENVIRONMENT, ADDRESS) as worker:
        with pytest.raises(BadSettings, match="Another moot serve uses"):
            async with open_worker(settings, ENVIRONMENT, ADDRESS):
                pytest.fail("there are two")
        await worker.shut_down()


async def test_shutdown_cancels_pending_title_requests(data_home: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{data_home / 'moot.db'}", task_model="scripted/silence")
    async with open_worker(settings, ENVIRONMENT, ADDRESS) as worker:
        await run_discussion(worker, None)
        assert len(worker.engine.titles._tasks) == 1
        await worker.shut_down()
    assert worker.engine.titles._tasks == {}


@pytest.mark.usefixtures("data_home")
@pytest.mark.parametrize(("environment", "warned"), [({}, True), (ENVIRONMENT, False)])
async def test_open_worker_warns_about_missing_secret_on_postgres(
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    warned: bool,
) -> None:
    async def fail_migration(database: Database) -> None:
        """Stop before the database is needed: the warning comes first."""
        assert database.is_postgres
        raise DatabaseUnavailable("The database is away.")

    monkeypatch.setattr(lifecycle, "migrate", fail_migration)
    with pytest.raises(DatabaseUnavailable):
        async with open_worker(Settings(database_url="postgresql://127.0.0.1:1/moot"), environment, ADDRESS):
            pytest.fail("it was opened")
    assert ("MOOT_SECRET" in caplog.text) is warned


async def test_worker_on_postgres_holds_lock_file_and_deregisters_on_shutdown(
    data_home: Path,
) -> None:
    async with (
        database_url("postgres", data_home) as url,
        open_worker(Settings(database_url=url), ENVIRONMENT, ADDRESS) as worker,
    ):
        (shown,) = worker_lock_folder(data_folder(), url).iterdir()
        assert shown.name == worker.id
        assert worker.lock_files.dead_workers({worker.id}) == frozenset(), "a living process holds the file"
        assert (await worker.registry.worker_states())[worker.id].successor is None
        await worker.shut_down()
        assert (await worker.registry.worker_states())[worker.id].successor == worker.id
    assert not shown.exists()
