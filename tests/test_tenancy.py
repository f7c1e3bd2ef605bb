"""Data of another tenant is not found: every route, with foreign ids in every path and body."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio
from msgspec import Struct
from sqlalchemy import select

from moot.store.accounts.accounts import Accounts
from moot.store.database import Database
from moot.store.schema import metadata
from moot.types.accounts import Caller
from tests.support import stateless_requests
from tests.support.databases import SLOW_ON_POSTGRES, migrated_database_url
from tests.support.moot_server import MootServer, Reply, run_moot_server

pytestmark = pytest.mark.asyncio(loop_scope="module")

PASSWORD = "correct horse battery"
SECRET = "xylophone"  # a word that only Ada uses
SCRIPTS = f"""\
[reader]
answer = '{{"summary": "{SECRET}", "usefulness": 1, "insights": [{{"title": "{SECRET}", "detail": "{SECRET}", "category": "x", "kind": "decision", "messages": []}}]}}'

[judge]
answer = '{{"verdicts": [{{"number": 1, "reason": "{SECRET}", "passed": false}}]}}'
[mirror]
answer = '[{{"type": "text", "content": "{{system}}"}}]'
chunk_chars = 10_000
"""
VOLATILE_TABLES = {
    "rate_limit",
    "session",
    "worker",
    "persona_usage",
    "token_rate",
}  # tables that change by themselves

# A body that would be right for every operation that takes one and has an id in its path.
BODIES: dict[str, Any] = {
    "update_discussion": {"title": "Mine now"},
    "send_message": {"message": "Do you hear me?"},
    "continue_discussion": {"turns": 2},
    "regenerate_turn": {"model": "scripted/echo"},
    "edit_turn": {"content": "Mine now"},
    "select_version": {"version": "msg_none"},
    "stop_run": {},
    "retry_lane": {"model": "scripted/echo"},
    "update_persona": {"name": "Mine now"},
    "update_project": {"name": "Mine now"},
    "create_preset": {"name": "Mine", "participants": ["scripted/echo"]},
    "update_preset": {"name": "Mine now"},
    "create_post": {"title": "Mine now"},
    "update_post": {"title": "Mine now"},
    "export_discussion": {"model": "scripted/reader"},
    "consolidate_project": {"model": "scripted/reader"},
    "resolve_approval": {"decision": "allow"},
    "judge_answer": {"assertions": "It is hers.", "judge": "scripted/judge"},
}
NEW_DISCUSSION = {"message": "Whose is it?", "participants": ["scripted/echo"]}
STATELESS_OPERATION = "stream_chat"  # whose personas are words; a test of its own shows it
SHARED_PATHS = {  # providers have the same names for everybody, and servers of tools the names that each gives them
    "/api/keys/{provider}",
    "/api/tool-servers/{name}",
}

Headers = dict[str, str]
# The test of lists and searches takes both in the default ring.
TOKEN_AND_SLOW_SESSION = ("token", pytest.param("session", marks=pytest.mark.slow))


class TenancySetup(Struct):
    """A server with resources of Ada, and the credentials of Bob of every kind."""

    server: MootServer
    database: Database
    ada: Headers
    bob: dict[str, Headers]
    ids: dict[str, dict[str, str]]
    operations: list[tuple[str, str, Any]]
    components: Any

    async def open_discussion(self, credentials: Headers, **headers: str) -> Any:
        """Create a discussion, and wait until its run has ended."""
        reply = await self.server.post("/api/discussions", NEW_DISCUSSION, credentials | headers)
        assert reply.status == 201, reply.text
        async for _ in self.server.events(f"/api/runs/{reply.body['run']['id']}/events", credentials):
            pass
        return reply.body

    async def stored_rows(self) -> dict[str, list[Any]]:
        """Everything that is stored."""
        async with self.database.read() as connection:
            return {
                table.name: sorted(map(repr, (await connection.execute(select(table))).all()))
                for table in metadata.sorted_tables
                if table.name not in VOLATILE_TABLES
            }


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def tenancy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[TenancySetup]:
    folder = tmp_path_factory.mktemp("tenancy")
    (folder / "reader.toml").write_text(SCRIPTS, "utf-8")
    scripted = '[providers.scripted]\nscript = "reader.toml"\n'
    async with migrated_database_url(request.param, folder) as url, Database(url) as database:
        ada, bob = [await _create_account_with_token(Accounts(database), name) for name in ("ada", "bob")]
        async with run_moot_server(folder, url, settings=scripted, MOOT_AUTH="accounts") as server:
            session = await _log_in(server, "bob")
            description = (await server.get("/api/openapi.json")).body
            yield TenancySetup(
                server,
                database,
                ada,
                {"token": bob, "session": session},
                await _create_ada_resources(server, ada),
                list(_operations(description)),
                description["components"]["schemas"],
            )


async def _create_account_with_token(accounts: Accounts, name: str) -> Headers:
    added = await accounts.create_account(name, PASSWORD)
    caller = Caller(account=added.id, tenant=added.tenant, name=name, kind="local")
    secret, _ = await accounts.create_token(caller, f"of {name}")
    return {"Authorization": f"Bearer {secret}"}


async def _log_in(server: MootServer, name: str) -> Headers:
    login = await server.post("/api/login", {"name": name, "password": PASSWORD})
    return {"Cookie": login.headers["Set-Cookie"].partition(";")[0]}


async def _create_ada_resources(server: MootServer, ada: Headers) -> dict[str, dict[str, str]]:
    """Create one resource of every kind for Ada; return the ids by the prefix of their paths."""

    async def create_resource(path: str, body: Any = None) -> Any:
        reply = await server.post(path, body, ada)
        assert reply.status in {200, 201}, reply.text
        return reply.body

    project = (await create_resource("/api/projects", {"name": SECRET}))["id"]
    post = (await create_resource(f"/api/projects/{project}/posts", {"title": SECRET}))["id"]
    persona = (await create_resource("/api/personas", {"name": SECRET, "system_prompt": SECRET}))["id"]
    participants = [{"model": "scripted/echo", "persona": persona}]
    preset = (await create_resource("/api/presets", {"name": SECRET, "participants": participants}))["id"]
    session = await _log_in(server, "ada")
    token = (await server.post("/api/tokens", {"name": SECRET}, session)).body["id"]
    opened = await create_resource(
        "/api/discussions",
        {
            "message": SECRET,
            "participants": [{"model": "scripted/echo", "name": "Ursula"}],
            "project": project,
            "persona": persona,
        },
    )
    discussion, run = opened["discussion"]["id"], opened["run"]["id"]
    async for _ in server.events(f"/api/runs/{run}/events", ada):
        pass
    await create_resource(f"/api/discussions/{discussion}/export", {"model": "scripted/reader"})
    messages = (await server.get(f"/api/discussions/{discussion}", ada)).body["messages"]
    answer = messages[-1]["id"]
    evaluated = await create_resource(
        f"/api/messages/{answer}/evaluations", {"assertions": SECRET, "judge": "scripted/judge"}
    )
    return {
        "/api/discussions/": {"id": discussion, "turn": answer},
        "/api/messages/": {"id": answer},
        "/api/evaluations/": {"id": evaluated["evaluation"]["id"]},
        "/api/runs/": {"id": run, "participant": "ursula", "call": "call_none"},
        "/api/personas/": {"id": persona},
        "/api/projects/": {"id": project, "post_id": post},
        "/api/presets/": {"id": preset},
        "/api/tokens/": {"id": token},
        "/api/files/": {"id": await _upload_file(server, ada)},
    }


async def _upload_file(server: MootServer, credentials: Headers) -> str:
    form = {"Content-Type": "multipart/form-data; boundary=edge"}
    disposition = f'Content-Disposition: form-data; name="file"; filename="{SECRET}.txt"'
    body = f"--edge\r\n{disposition}\r\n\r\n{SECRET}\r\n--edge--\r\n".encode()
    reply = await server.post("/api/files", body, credentials | form)
    assert reply.status == 201, reply.text
    return str(reply.body["id"])


def _operations(description: Any) -> Iterator[tuple[str, str, Any]]:
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield path, method.upper(), operation


def known_ids(tenancy: TenancySetup, path: str) -> dict[str, str]:
    return next(ids for prefix, ids in tenancy.ids.items() if path.startswith(prefix))


def fill_path(path: str, ids: dict[str, str]) -> str:
    for name, id in ids.items():
        path = path.replace(f"{{{name}}}", id)
    assert "{" not in path, f"whose is this id? {path}"
    return path


def is_not_found(reply: Reply) -> bool:
    about = (reply.status, reply.headers["Content-Type"])
    return about == (404, "application/problem+json") and SECRET not in reply.text


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_id_in_path_is_not_found(tenancy: TenancySetup, credential: str) -> None:
    before = await tenancy.stored_rows()
    tried = 0
    for path, method, operation in tenancy.operations:
        if "{" not in path or path in SHARED_PATHS:
            continue
        name, known = operation["operationId"], known_ids(tenancy, path)
        assert name in BODIES or "requestBody" not in operation, f"BODIES has no body for {name}"
        body, credentials = BODIES.get(name), tenancy.bob[credential]
        foreign = await tenancy.server.call(method, fill_path(path, known), body, credentials)
        assert is_not_found(foreign), (method, path, foreign)
        nothing = {name: f"{id[:-4]}zzzz" for name, id in known.items()}
        unknown = await tenancy.server.call(method, fill_path(path, nothing), body, credentials)
        expected = foreign.text
        for name, id in known.items():
            expected = expected.replace(id, nothing[name])
        assert (unknown.status, unknown.text) == (404, expected), "a foreign id looks like an unknown id"
        tried += 1
    assert tried > 20
    assert await tenancy.stored_rows() == before


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_id_below_own_resource_is_not_found(tenancy: TenancySetup, credential: str) -> None:
    credentials = tenancy.bob[credential]
    mine = (await tenancy.server.post("/api/projects", {"name": "Bob's"}, credentials)).body["id"]
    opened = await tenancy.open_discussion(credentials)
    before = await tenancy.stored_rows()
    post, turn = tenancy.ids["/api/projects/"]["post_id"], tenancy.ids["/api/discussions/"]["turn"]
    for method, path, body in (
        ("PATCH", f"/api/projects/{mine}/posts/{post}", {"title": "Mine now"}),
        ("DELETE", f"/api/projects/{mine}/posts/{post}", None),
        ("GET", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}/prompt", None),
        ("GET", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}/prompt/parts", None),
        ("GET", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}/versions", None),
        ("POST", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}/regenerate", {}),
        ("PATCH", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}", {"content": "Mine now"}),
        ("POST", f"/api/discussions/{opened['discussion']['id']}/turns/{turn}/select", {"version": turn}),
        (
            "POST",
            f"/api/discussions/{opened['discussion']['id']}/turns/{opened['message']['id']}/select",
            {"version": turn},
        ),
    ):
        reply = await tenancy.server.call(method, path, body, credentials)
        assert is_not_found(reply), path
    assert await tenancy.stored_rows() == before


def body_fields(schema: Any, components: Any, prefix: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the fields of a body, nested ones included; an item of a list is `0`."""
    if "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    for inner in schema.get("anyOf", ()):
        yield from body_fields(inner, components, prefix)
    if "items" in schema:
        yield from body_fields(schema["items"], components, (*prefix, "0"))
    for name, inner in schema.get("properties", {}).items():
        yield (*prefix, name)
        yield from body_fields(inner, components, (*prefix, name))


def with_field(body: Any, field: tuple[str, ...], id: str) -> Any:
    if field[0] == "files":
        return body | {"files": [id]}
    if field[0] == "participants":
        return body | {"participants": [{"model": "scripted/echo", field[-1]: id}]}
    return body | {field[0]: id}


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_id_in_body_is_not_found(tenancy: TenancySetup, credential: str) -> None:
    credentials = tenancy.bob[credential]
    mine = await tenancy.open_discussion(credentials)
    preset = await tenancy.server.post("/api/presets", BODIES["create_preset"], credentials)
    own = {
        "/api/discussions/": {"id": mine["discussion"]["id"]},
        "/api/runs/": {"id": mine["run"]["id"]},
        "/api/presets/": {"id": preset.body["id"]},
    }
    kinds = {
        "persona": "/api/personas/",
        "project": "/api/projects/",
        "discussion": "/api/discussions/",
        "files": "/api/files/",
    }
    before = await tenancy.stored_rows()
    tried = set()
    for path, method, operation in tenancy.operations:
        if "requestBody" not in operation:
            continue
        name = operation["operationId"]
        content = operation["requestBody"]["content"]
        for field in body_fields(content.get("application/json", {}).get("schema", {}), tenancy.components):
            if field[-1] not in kinds or name == STATELESS_OPERATION:
                continue
            body = with_field(BODIES.get(name, NEW_DISCUSSION), field, tenancy.ids[kinds[field[-1]]]["id"])
            filled_path = fill_path(path, next((ids for p, ids in own.items() if path.startswith(p)), {}))
            reply = await tenancy.server.call(method, filled_path, body, credentials)
            assert is_not_found(reply), (name, field, reply)
            tried.add((name, field))
    assert {
        ("create_discussion", ("persona",)),
        ("create_discussion", ("project",)),
        ("create_discussion", ("participants", "0", "persona")),
        ("create_discussion", ("files",)),
        ("send_message", ("files",)),
        ("update_discussion", ("persona",)),
        ("update_discussion", ("project",)),
        ("update_discussion", ("participants", "0", "persona")),
        ("create_preset", ("participants", "0", "persona")),
        ("update_preset", ("participants", "0", "persona")),
        ("estimate_cost", ("discussion",)),
        ("estimate_cost", ("project",)),
    } <= tried
    assert await tenancy.stored_rows() == before


async def test_stateless_chat_does_not_reveal_foreign_persona(
    tenancy: TenancySetup,
) -> None:
    persona, before = tenancy.ids["/api/personas/"]["id"], await tenancy.stored_rows()
    agent = {"id": "ursula", "name": "Ursula", "persona": persona}
    body = stateless_requests.chat_request(agent, model="scripted/mirror")
    reply = await tenancy.server.post("/api/stateless/chat", body, tenancy.bob["token"])
    text = "".join(event["data"].get("content", "") for event in stateless_requests.parse_events(reply.text))
    assert (reply.status, persona in text, SECRET in text) == (200, True, False)
    after = await tenancy.stored_rows()
    assert {table for table in after if after[table] != before[table]} == {"charge"}


@pytest.mark.parametrize("credential", ["token", "session"])
async def test_lists_and_searches_return_nothing_of_other_tenants(tenancy: TenancySetup, credential: str) -> None:
    server, credentials = tenancy.server, tenancy.bob[credential]
    project = tenancy.ids["/api/projects/"]["id"]
    ada_s = (await server.get("/api/discussions", tenancy.ada)).body["discussions"]
    assert project in [one["project"] for one in ada_s]
    for path in (
        "/api/discussions?limit=100",
        f"/api/discussions?project={project}",
        f"/api/discussions?q={SECRET}",
        "/api/personas?limit=100",
        "/api/projects?limit=100",
        "/api/presets?limit=100",
        "/api/activity",
        "/api/tokens",
        "/api/providers",
        "/api/me",
        "/api/models",
        "/api/usage?by=discussion",
        "/api/budget",
    ):
        reply = await server.get(path, credentials)
        assert reply.status == 200, path
        assert SECRET not in reply.text, path
        for ids in tenancy.ids.values():
            assert not any(id in reply.text for id in ids.values()), path
    assert (await server.get(f"/api/discussions?project={project}", credentials)).body["discussions"] == []


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_live_run_is_not_visible(tenancy: TenancySetup, credential: str) -> None:
    server, credentials = tenancy.server, tenancy.bob[credential]
    slow = {"message": SECRET, "participants": ["scripted/silence"]}
    live = (await server.post("/api/discussions", slow, tenancy.ada)).body
    try:
        path = f"/api/runs/{live['run']['id']}/events"
        for query, headers in (("", {}), ("?after=0", {}), ("?after=99", {}), ("", {"Last-Event-ID": "1"})):
            reply = await server.get(path + query, credentials | headers)
            assert is_not_found(reply), query
            assert "event" not in reply.headers["Content-Type"]
        assert (await server.post(f"/api/runs/{live['run']['id']}/stop", {}, credentials)).status == 404
        going_on = {"discussion": live["discussion"]["id"], "runs": 1}
        assert (await server.get("/api/activity", credentials)).body == []
        assert (await server.get("/api/activity", tenancy.ada)).body == [going_on]

        async with aclosing(server.events("/api/events", credentials)) as changes:
            assert (await anext(changes)).data == {"type": "activity", "runs": [], "awaiting_approval": []}
            await server.post(f"/api/runs/{live['run']['id']}/stop", {}, tenancy.ada)
            async for frame in server.events(path, tenancy.ada):
                ended = frame.data
            assert ended["status"] == "stopped"
            mine = (await tenancy.open_discussion(credentials))["discussion"]["id"]
            async with asyncio.timeout(60):
                change = (await anext(changes)).data
            assert change["discussion"]["id"] == mine, "Bob gets no event of Ada's stop"
    finally:
        await server.call("DELETE", f"/api/discussions/{live['discussion']['id']}", headers=tenancy.ada)


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_discussion_and_runs_cannot_be_subscribed_to(tenancy: TenancySetup, credential: str) -> None:
    server, credentials = tenancy.server, tenancy.bob[credential]
    mine = await tenancy.open_discussion(credentials)
    discussion, run = mine["discussion"]["id"], mine["run"]["id"]
    hers, her_run = tenancy.ids["/api/discussions/"]["id"], tenancy.ids["/api/runs/"]["id"]
    for query, foreign in (
        (f"discussion={hers}", hers),
        (f"discussion={hers}&after={her_run}:0", hers),
        (f"discussion={hers}&after={run}:0", hers),
        (f"discussion={discussion}&after={her_run}:0", her_run),
        (f"discussion={discussion}&after={her_run}:99", her_run),
        (f"discussion={discussion}&after={run}:0&after={her_run}:1", her_run),
    ):
        reply = await server.get(f"/api/events?{query}", credentials)
        assert is_not_found(reply), query
        nothing = f"{foreign[:-4]}zzzz"
        unknown = await server.get(f"/api/events?{query.replace(foreign, nothing)}", credentials)
        assert (unknown.status, unknown.text) == (404, reply.text.replace(foreign, nothing))


async def test_idempotency_key_is_scoped_to_tenant(tenancy: TenancySetup) -> None:
    key = {"Idempotency-Key": "the same"}
    first, second = [
        await tenancy.open_discussion(credentials, **key) for credentials in (tenancy.ada, tenancy.bob["token"])
    ]
    assert first["discussion"]["id"] != second["discussion"]["id"]
    foreign = await tenancy.server.get(f"/api/discussions/{first['discussion']['id']}", tenancy.bob["token"])
    assert foreign.status == 404


async def test_missing_or_wrong_credentials_are_unauthorized(tenancy: TenancySetup) -> None:
    before = await tenancy.stored_rows()
    wrong: list[Headers] = [
        {},
        {"Authorization": "Bearer moot_wrong"},
        {"Authorization": "Bearer "},
        {"Authorization": "Basic YWRhOmFkYQ=="},
        {"Cookie": "moot_session=wrong"},
        {"Cookie": "moot_session="},
        tenancy.bob["session"] | {"Authorization": "Bearer moot_wrong"},
    ]
    for path, method, operation in tenancy.operations:
        if operation.get("security") in ([], [{"metrics": []}]):
            continue
        filled_path = path if "{" not in path or path in SHARED_PATHS else fill_path(path, known_ids(tenancy, path))
        for headers in wrong if path in {"/api/me", "/api/events"} else wrong[:1]:
            reply = await tenancy.server.call(method, filled_path, BODIES.get(operation["operationId"]), headers)
            assert reply.status == 401, (method, path, headers)
            assert SECRET not in reply.text
    assert await tenancy.stored_rows() == before


async def test_event_stream_ends_when_token_is_deleted(tenancy: TenancySetup) -> None:
    server, credentials = tenancy.server, tenancy.bob["session"]
    made = (await server.post("/api/tokens", {"name": "Not for long"}, credentials)).body
    async with aclosing(server.events("/api/events", {"Authorization": f"Bearer {made['secret']}"})) as changes:
        await anext(changes)
        await server.call("DELETE", f"/api/tokens/{made['id']}", headers=credentials)
        async with asyncio.timeout(60):
            assert [frame async for frame in changes] == []


@pytest.mark.parametrize("credential", TOKEN_AND_SLOW_SESSION)
async def test_foreign_discussion_cannot_be_referenced(tenancy: TenancySetup, credential: str) -> None:
    server, credentials = tenancy.server, tenancy.bob[credential]
    titles = [one["title"] for one in (await server.get("/api/discussions", tenancy.ada)).body["discussions"]]
    assert SECRET in titles
    body = NEW_DISCUSSION | {"message": f'What came of @"{SECRET}"?'}
    opened = (await server.post("/api/discussions", body, credentials)).body
    events = [frame.data async for frame in server.events(f"/api/runs/{opened['run']['id']}/events", credentials)]
    assert [event["kind"] for event in events if event["type"] == "notice"] == ["missing"]
    assert [event["message"]["text"] for event in events if event["type"] == "turn_ended"] == [body["message"]]
