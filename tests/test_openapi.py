"""The OpenAPI description matches the API: schemathesis generates requests and checks the responses."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi import checks

from moot.types.stateless import EVENT_NAMES
from tests.support.databases import migrated_database_url
from tests.support.moot_server import MootServer, run_moot_server

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
EVENTS_PATH = "/api/events"
STATELESS_PATH = "/api/stateless/chat"
PATHS_WITHOUT_INPUT = {"/healthz", "/readyz"}

SETTINGS = """\
[providers.scripted]
script = "readers.toml"

[rates]
requests_per_minute = 1_000_000
model_requests_per_minute = 1_000_000
messages_per_minute = 1_000_000
debates_per_minute = 1_000_000
model_calls_per_minute = 1_000_000
"""
SCRIPTS = """\
[export]
answer = '{"summary": "Tables.", "usefulness": 0.5, "insights": []}'

[consolidate]
answer = '{"patterns": []}'

[judge]
answer = '{"verdicts": [{"number": 1, "reason": "So it is.", "passed": true}]}'

[questions]
answer = '{"questions": ["Since when?"]}'

[persona-suggestions]
answer = '[{"name": "Ada", "category": "thinker", "description": "You count.", "rationale": "It helps."}]'
"""

Ids = dict[str, dict[str, str]]


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def server(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MootServer]:
    """A server on Postgres, which is stricter than SQLite about what it is given."""
    folder = tmp_path_factory.mktemp("openapi")
    (folder / "readers.toml").write_text(SCRIPTS, "utf-8")

    @asynccontextmanager
    async def open_server() -> AsyncIterator[MootServer]:
        async with (
            migrated_database_url("postgres", folder) as url,
            run_moot_server(folder, url, settings=SETTINGS) as server,
        ):
            yield server

    context = open_server()
    yield runner.run(context.__aenter__())
    runner.run(context.__aexit__(None, None, None))


@pytest.fixture(scope="module")
def description(runner: asyncio.Runner, server: MootServer) -> Any:
    return runner.run(server.get("/api/openapi.json")).body


@pytest.fixture(scope="module")
def ids(runner: asyncio.Runner, server: MootServer) -> Ids:
    """Ids of what is really there, by the path under which it is found."""
    return runner.run(_create_resources(server))


async def _create_resources(server: MootServer) -> Ids:
    project = (await server.post("/api/projects", {"name": "Tables"})).body["id"]
    post = (await server.post(f"/api/projects/{project}/posts", {"title": "On tables"})).body["id"]
    persona = (await server.post("/api/personas", {"name": "Ada", "system_prompt": "Be Ada."})).body["id"]
    two = {"name": "Two", "participants": ["scripted/echo", "scripted/steady"]}
    preset = (await server.post("/api/presets", two)).body["id"]
    token = (await server.post("/api/tokens", {"name": "A token"})).body["id"]
    body = {"message": "What is a moot?", "participants": ["scripted/echo"], "project": project}
    opened = (await server.post("/api/discussions", body)).body
    await server.run_events(opened["run"]["id"])
    discussion = opened["discussion"]["id"]
    (_, turn) = (await server.get(f"/api/discussions/{discussion}")).body["messages"]
    asserted = {"assertions": "It answers.", "judge": "scripted/judge"}
    judged = (await server.post(f"/api/messages/{turn['id']}/evaluations", asserted)).body
    return {
        "/api/discussions/": {"id": discussion, "turn": turn["id"]},
        "/api/messages/": {"id": turn["id"]},
        "/api/evaluations/": {"id": judged["evaluation"]["id"]},
        "/api/runs/": {"id": opened["run"]["id"], "participant": "alpha", "call": "call_none"},
        "/api/personas/": {"id": persona},
        "/api/projects/": {"id": project, "post_id": post},
        "/api/presets/": {"id": preset},
        "/api/tokens/": {"id": token},
        "/api/keys/": {"provider": "openai"},
        "/api/files/": {"id": await _upload_file(server)},
    }


async def _upload_file(server: MootServer) -> str:
    form = {"Content-Type": "multipart/form-data; boundary=edge"}
    disposition = b'Content-Disposition: form-data; name="file"; filename="a.txt"'
    body = b"--edge\r\n" + disposition + b"\r\n\r\nRound.\r\n--edge--\r\n"
    return str((await server.post("/api/files", body, form)).body["id"])


@pytest.mark.parametrize("examples", [1, pytest.param(4, marks=pytest.mark.slow)])
@pytest.mark.parametrize("mode", GenerationMode)
def test_responses_conform_to_openapi_for_generated_requests(
    server: MootServer, ids: Ids, mode: GenerationMode, examples: int, subtests: pytest.Subtests
) -> None:
    schema = schemathesis.openapi.from_url(f"{server.url}/api/openapi.json")
    session = requests.Session()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        if operation.path == EVENTS_PATH or (operation.path in PATHS_WITHOUT_INPUT and mode == GenerationMode.NEGATIVE):
            continue

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode), real=st.booleans())
        def check_case(case: Case[Any], *, real: bool) -> None:
            if real and mode == GenerationMode.POSITIVE:
                use_existing_resources(case, ids)
            case.call_and_validate(session=session, checks=CHECKS, timeout=120)

        with subtests.test(operation.label):
            check_case()
    session.close()


def use_existing_resources(case: Case[Any], ids: Ids) -> None:
    """Put what is really there into the place of what was made up; nothing of it is deleted."""
    for path, known in ids.items():
        if case.path.startswith(path) and case.method != "DELETE":
            case.path_parameters = known
    if (asked := case.path.rpartition("/")[2]) in {"export", "consolidate"}:
        case.body = {"model": f"scripted/{asked}"}
    if asked in {"questions", "persona-suggestions"} and isinstance(case.body, dict):
        case.body = case.body | {"model": f"scripted/{asked}"}
    if asked == "evaluations" and isinstance(case.body, dict):
        case.body = {"assertions": "It answers.", "judge": "scripted/judge"}
    if asked == "regenerate" and isinstance(case.body, dict):
        case.body = {"model": "scripted/echo"}
    if asked == "select" and isinstance(case.body, dict):
        case.body = {"version": case.path_parameters["turn"]}
    if case.path == STATELESS_PATH and isinstance(case.body, dict):
        config: Any = case.body["config"]
        agents = [{**one, "model": None} for one in config["agents"]]
        present = {"agents": agents, "agentIds": [agents[0]["id"], *config["agentIds"]][:24]}
        case.body |= {"model": "scripted/echo", "apiKey": "", "config": {**config, **present}}
    if isinstance(case.body, dict) and "participants" in case.body:
        made_up = dict.fromkeys(("persona", "project", "model", "language", "task_model", "files"))
        fields = {name: value for name, value in case.body.items() if name not in made_up}
        case.body = fields | {"participants": ["scripted/echo"]}


def operations(description: Any) -> Iterator[tuple[str, str, Any]]:
    for path, item in description["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def test_every_operation_has_unique_id_tag_and_summary(description: Any) -> None:
    found = [operation for _, _, operation in operations(description)]
    assert len({operation["operationId"] for operation in found}) == len(found)
    for operation in found:
        assert operation["tags"]
        assert operation["summary"]


def test_every_error_response_is_problem_json(description: Any) -> None:
    for path, method, operation in operations(description):
        error_responses = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
        assert {"400", "401", "429", "503"} <= error_responses.keys(), path
        assert ("404" in error_responses) >= ("{" in path), path
        assert {"408", "413", "415"} <= error_responses.keys() or "requestBody" not in operation, path
        assert "409" in error_responses or method == "get", path
        for answer in error_responses.values():
            assert list(answer["content"]) == ["application/problem+json"]


def test_streaming_operations_declare_event_stream(description: Any) -> None:
    for path in (
        "/api/evaluations/{id}/improve",
        "/api/persona-suggestions",
        STATELESS_PATH,
        "/api/events",
        "/api/runs/{id}/events",
    ):
        (operation,) = description["paths"][path].values()
        answers = operation["responses"]
        assert list(answers["200"]["content"]) == ["text/event-stream"]
    assert "content" not in answers["204"]


def test_event_stream_schema_lists_all_event_types(description: Any) -> None:
    operation = description["paths"][EVENTS_PATH]["get"]
    answer = operation["responses"]["200"]["content"]["text/event-stream"]
    event_types = answer["schema"]["properties"]["data"]["contentSchema"]["discriminator"]["mapping"]
    assert {"activity", "discussion_changed", "resync", "text_delta", "run_ended"} < event_types.keys()
    assert "404" in operation["responses"]
    assert [one["name"] for one in operation["parameters"]] == ["discussion", "after"]


def test_stateless_stream_schema_lists_events_by_name(description: Any) -> None:
    answer = description["paths"][STATELESS_PATH]["post"]["responses"]["200"]
    data = answer["content"]["text/event-stream"]["schema"]["properties"]["data"]["contentSchema"]
    assert set(data["discriminator"]["mapping"]) == set(EVENT_NAMES.values())
    assert not [name for name in description["components"]["schemas"] if "stateless" in name], "no name is taken"


def test_security_schemes_are_declared_and_public_paths_are_exempt(description: Any) -> None:
    assert description["components"]["securitySchemes"].keys() == {"token", "session", "metrics"}
    metrics = description["paths"]["/metrics"]["get"]
    assert (metrics["security"], "404" in metrics["responses"]) == ([{"metrics": []}], True)
    assert description["security"] == [{"token": []}, {"session": []}]
    assert {path for path, _, operation in operations(description) if operation.get("security") == []} == {
        "/healthz",
        "/readyz",
        "/api/login",
    }


def test_file_operations_declare_their_content_types(description: Any) -> None:
    paths = description["paths"]
    assert list(paths["/api/files"]["post"]["requestBody"]["content"]) == ["multipart/form-data"]
    given = paths["/api/files/{id}/content"]["get"]["responses"]["200"]["content"]
    assert {"text/plain", "image/png", "application/pdf"} < given.keys()


def test_transcript_operations_declare_their_content_types(description: Any) -> None:
    kinds = {"md": "text/markdown", "json": "application/json", "html": "text/html"}
    for ending, kind in kinds.items():
        operation = description["paths"][f"/api/discussions/{{id}}/transcript.{ending}"]["get"]
        assert list(operation["responses"]["200"]["content"]) == [kind]
    described = description["components"]["schemas"]["TranscriptDocument"]
    assert {"moot", "discussion", "messages", "runs"} <= described["properties"].keys()
