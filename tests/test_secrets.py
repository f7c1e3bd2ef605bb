"""Keys, tokens and passwords are found nowhere: not in an answer, an event, a log, or what is stored."""

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS, Scripts
from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.testing.provider_server import FakeProviderServer, serve_provider
from tests.support import stateless_requests
from tests.support.databases import SLOW_ON_POSTGRES, DatabaseKind, migrated_database_url
from tests.support.moot_server import MootServer, Reply
from tests.support.stateless_requests import MIRA, TOM

SERVER_KEY = "sk-canary-server-5f0c7b1e9d"
STORED_KEY = "sk-canary-stored-8a4d2f6c3b"
REQUEST_KEY = "sk-canary-request-2d7e9b5a1f"
PASSWORD = "canary password 71c9e0"

APIS = {
    "lab_openai": ("openai", "/v1"),
    "lab_anthropic": ("anthropic", "/v1"),
    "lab_google": ("google", "/v1beta"),
}
SCRIPTS = [
    "echo",
    "unauthorized",
    "forbidden",
    "error_event",
    "error_body",
    "html",
    "broken_json",
    "reset",
    "huge_line",
    "content_filter",
]


class RecordingServer(MootServer):
    """A server that records every reply."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.replies: list[bytes] = []

    async def call(self, method: str, path: str, body: object = None, headers: Any = None) -> Reply:
        reply = await super().call(method, path, body, headers)
        self.replies.append(f"{dict(reply.headers)} {reply.text}".encode())
        return reply


@asynccontextmanager
async def run_recording_server(folder: Path, url: str, provider_url: str) -> AsyncIterator[RecordingServer]:
    providers = "".join(
        f'[providers.{name}]\napi = "{api}"\nbase_url = "{provider_url}{path}"\nkey_env = "LAB_KEY"\n'
        for name, (api, path) in APIS.items()
    )
    server = RecordingServer(
        folder, url, settings=providers, MOOT_AUTH="accounts", LAB_KEY=SERVER_KEY, OPENAI_API_KEY=SERVER_KEY
    )
    try:
        await server.start()
        yield server
    finally:
        await server.close()


async def log_in(server: MootServer, name: str) -> dict[str, str]:
    login = await server.post("/api/login", {"name": name, "password": PASSWORD})
    assert login.status == 200
    return {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}


async def exercise_api(server: MootServer, credentials: dict[str, str]) -> None:
    """Go through what succeeds and what fails, and read all of it again."""
    await asyncio.gather(*(exercise_provider(server, provider, credentials) for provider in APIS))
    for path in ("/api/providers", "/api/me", "/api/tokens", "/api/models", "/api/discussions"):
        assert (await server.get(path, credentials)).status == 200


async def exercise_provider(server: MootServer, provider: str, credentials: dict[str, str]) -> None:
    models = [f"{provider}/{script}" for script in SCRIPTS]
    body = {"message": "What is a moot?", "participants": models, "mode": "parallel"}
    opened = (await server.post("/api/discussions", body, credentials)).body
    events = await server.get(f"/api/runs/{opened['run']['id']}/events", credentials)
    assert events.text.count('"turn_ended"') == len(models)
    path = f"/api/discussions/{opened['discussion']['id']}"
    for message in (await server.get(path, credentials)).body["messages"][1:]:
        assert (await server.get(f"{path}/turns/{message['id']}/prompt", credentials)).status == 200
    for script in ("unauthorized", "echo"):
        exported = await server.post(f"{path}/export", {"model": f"{provider}/{script}"}, credentials)
        assert exported.status == 502


async def send_request_keys(server: MootServer, credentials: dict[str, str]) -> None:
    """Send chat requests with their own key to every script, and invalid requests."""

    async def send_chat(model: str, status: int = 200, **more: Any) -> None:
        request = stateless_requests.chat_request(
            MIRA, text="What is a lesson?", model=model, **{"apiKey": REQUEST_KEY, **more}
        )
        assert (await server.post("/api/stateless/chat", request, credentials)).status == status

    await asyncio.gather(*(send_chat(f"{provider}/{script}") for provider in APIS for script in SCRIPTS))
    director = {"turnCount": 1, "agentResponses": [{"agentId": "tom", "agentName": "Tom"}]}
    both = {"agentIds": ["mira", "tom"], "agents": [MIRA, TOM]}
    await send_chat("lab_openai/echo", config=both, directorState=director)
    for wrong in ({"apiKey": [REQUEST_KEY]}, {"apiKey": f"{REQUEST_KEY} "}, {"apiKey": REQUEST_KEY * 50}):
        await send_chat("lab_openai/echo", 400, **wrong)
    for model in ("scripted/echo", "nobody/none"):
        await send_chat(model, 400)
    other = {"agentIds": ["mira"], "agents": [{**MIRA, "model": "lab_google/echo"}]}
    await send_chat("lab_openai/echo", 400, config=other)


async def submit_invalid_keys(server: MootServer, credentials: dict[str, str]) -> None:
    for provider, body in (
        ("nobody", {"key": STORED_KEY}),
        ("scripted", {"key": STORED_KEY}),
        ("openai", {"key": STORED_KEY + " "}),
        ("openai", {"key": STORED_KEY * 50}),
        ("openai", {"key": [STORED_KEY]}),
        ("openai", {"key": STORED_KEY, "more": STORED_KEY}),
        ("openai", [STORED_KEY]),
        ("openai", f'{{"key": "{STORED_KEY}'.encode()),
    ):
        assert (await server.call("PUT", f"/api/keys/{provider}", body, credentials)).status in {400, 404}
    for wrong in ({"name": "ada", "password": PASSWORD + "x"}, {"name": PASSWORD}, {"password": [PASSWORD]}):
        assert (await server.post("/api/login", wrong)).status in {400, 401}


async def stored_bytes(kind: DatabaseKind, url: str) -> list[bytes]:
    """All bytes that are stored: the files of SQLite, or every row of every table in Postgres."""
    if kind == "sqlite":
        folder = Path(url.removeprefix("sqlite:///")).parent
        return [file.read_bytes() for file in folder.glob("*.db*")]
    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch(
            "SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name"
            " FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
        )
        return [
            str(tuple(row)).encode()
            for table in tables
            for row in await connection.fetch(f"SELECT * FROM {table['name']}")  # noqa: S608 - our own
        ]
    finally:
        await connection.close()


def secret_encodings(secret: str) -> Iterable[bytes]:
    """The encodings in which a secret may appear."""
    plain = secret.encode()
    yield from (plain, quote(secret).encode(), plain.hex().encode(), base64.b64encode(plain).rstrip(b"="))
    yield plain[-10:]


@pytest.mark.parametrize("kind", SLOW_ON_POSTGRES)
async def test_secrets_do_not_appear_in_responses_database_or_logs(kind: DatabaseKind, tmp_path: Path) -> None:
    provider_server = FakeProviderServer(Scripts(BUILT_IN_SCRIPTS))
    async with (
        serve_provider(provider_server) as provider_url,
        migrated_database_url(kind, tmp_path) as url,
        Database(url) as database,
    ):
        for name in ("ada", "bob"):
            await Accounts(database).create_account(name, PASSWORD)
        async with run_recording_server(tmp_path, url, provider_url) as server:
            ada, bob = await log_in(server, "ada"), await log_in(server, "bob")
            for provider in APIS:
                reply = await server.call("PUT", f"/api/keys/{provider}", {"key": STORED_KEY}, ada)
                assert reply.status == 204
            token = (await server.post("/api/tokens", {"name": "A token"}, ada)).body["secret"]
            server.replies.clear()  # a session and a token are shown once
            await asyncio.gather(
                exercise_api(server, {"Authorization": f"Bearer {token}"}),
                exercise_api(server, bob),
            )
            await send_request_keys(server, bob)
            await submit_invalid_keys(server, ada)
            used = {call.key for call in provider_server.received_requests}
            assert used == {SERVER_KEY, STORED_KEY, REQUEST_KEY}, "all keys were used"
            database_bytes = await stored_bytes(kind, url)
            assert await server.terminate() == 0
            places = [*server.replies, *database_bytes, server.read_log().encode()]
        sessions = [who["Cookie"].partition("=")[2] for who in (ada, bob)]
        assert b"What is a moot?" in b"".join(database_bytes)
        assert b"What is a lesson?" not in b"".join(database_bytes)
        for canary in (SERVER_KEY, STORED_KEY, REQUEST_KEY, PASSWORD, token, *sessions):
            for encoded in secret_encodings(canary):
                assert [place[max(0, place.find(encoded) - 80) :] for place in places if encoded in place] == []
