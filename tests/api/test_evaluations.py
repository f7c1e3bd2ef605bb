"""Evaluations over the API: a judge checks an answer, improvement rounds rewrite the persona, and rounds survive a kill."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from moot.types.evaluations import MAX_IMPROVEMENT_ROUNDS
from tests.support.databases import SLOW_ON_POSTGRES, migrated_database_url
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS, MootServer, run_moot_server

ASSERTIONS = "It gives a reason.\nIt names a source."


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SLOW_ON_POSTGRES)
async def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MootServer]:
    folder = tmp_path_factory.mktemp("evaluations")
    async with (
        migrated_database_url(request.param, folder) as url,
        run_moot_server(folder, url, MOOT_WORKER_LEASE_SECONDS="1") as server,
    ):
        yield server
        assert '"error"' not in server.read_log(), server.read_log()


async def create_evaluation(server: MootServer, model: str, **more: Any) -> Any:
    """Let a model answer, and let the task model judge the answer."""
    body = {"message": "Why is a table round?", "participants": [model], "task_model": "scripted/task-model", **more}
    opened = (await server.post("/api/discussions", body)).body
    await server.run_events(opened["run"]["id"])
    read = (await server.get(f"/api/discussions/{opened['discussion']['id']}")).body
    answer = read["messages"][-1]["id"]
    reply = await server.post(f"/api/messages/{answer}/evaluations", {"assertions": ASSERTIONS})
    assert reply.status == 201, reply.text
    return reply.body["evaluation"]


async def stream_improvement(server: MootServer, evaluation_id: str) -> AsyncGenerator[Any, None]:
    """Yield the events of an improvement. If another request is improving it, try again."""
    async with asyncio.timeout(SERVER_TIMEOUT_SECONDS):
        while True:
            async with server.http.post(f"{server.url}/api/evaluations/{evaluation_id}/improve") as response:
                if response.status == 200:
                    async for line in response.content:
                        if line.startswith(b"data: "):
                            yield msgspec.json.decode(line[6:])
                    return
                assert response.status == 409, await response.text()
            await asyncio.sleep(0.1)


async def wait_for_round_end(server: MootServer, evaluation_id: str) -> None:
    async with aclosing(stream_improvement(server, evaluation_id)) as events:
        async for event in events:
            if event["type"] == "round_ended":
                return


async def count_calls(server: MootServer) -> Counter[str]:
    """Count the model calls by purpose, without titles."""
    rows = (await server.get("/api/usage?by=purpose")).body["rows"]
    return Counter({row["key"]: row["calls"] for row in rows if row["key"] != "title"})


async def test_failed_assertion_is_improved_accepted_and_undone(server: MootServer) -> None:
    before = await count_calls(server)
    evaluation = await create_evaluation(server, "scripted/scholar")
    assert [one["passed"] for one in evaluation["verdicts"]] == [True, False]
    events = [event async for event in stream_improvement(server, evaluation["id"])]
    assert events[-1]["outcome"] == "all_pass"
    accepted = (await server.post(f"/api/evaluations/{evaluation['id']}/apply")).body
    assert accepted["applied_improvement"]["after"] == events[-2]["round"]["description"]
    discussion = (await server.get("/api/discussions")).body["discussions"][0]["id"]
    sent = (await server.post(f"/api/discussions/{discussion}/messages", {"message": "And of wood?"})).body
    run_events = await server.run_events(sent["run"]["id"])
    (answer,) = [event["message"]["text"] for event in run_events if event["type"] == "turn_ended"]
    assert answer == "Because nobody sits at its head, says Vitruvius."
    undone = await server.post(f"/api/evaluations/{evaluation['id']}/undo")
    assert (undone.status, undone.body["applied_improvement"]) == (200, None)
    assert await count_calls(server) - before == {"answer": 2, "assertion": 2, "improvement": 2}


async def test_finished_improvement_rounds_survive_disconnect_and_server_kill(server: MootServer) -> None:
    evaluation = await create_evaluation(server, "scripted/steady")  # which never names a source
    path = f"/api/evaluations/{evaluation['id']}"
    await wait_for_round_end(server, evaluation["id"])
    after_disconnect = (await server.get(path)).body["rounds"]
    assert after_disconnect
    await wait_for_round_end(server, evaluation["id"])
    server.kill()
    await server.start()
    after_kill = (await server.get(path)).body["rounds"]
    assert after_kill[: len(after_disconnect)] == after_disconnect
    assert len(after_kill) > len(after_disconnect)
    events = [event async for event in stream_improvement(server, evaluation["id"])]
    assert events[0]["evaluation"]["rounds"] == after_kill
    assert events[-1]["outcome"] == "no_more_rounds"
    assert len(events[-1]["evaluation"]["rounds"]) == MAX_IMPROVEMENT_ROUNDS
    assert not any(one["is_better"] for one in events[-1]["evaluation"]["rounds"])
    rejected = await server.post(f"{path}/apply")
    assert (rejected.status, "better" in rejected.body["detail"]) == (409, True)


async def test_second_improve_call_conflicts_while_first_continues(server: MootServer) -> None:
    evaluation = await create_evaluation(server, "scripted/steady")
    async with aclosing(stream_improvement(server, evaluation["id"])) as events:
        assert (await anext(events))["type"] == "improving"
        rejected = await server.post(f"/api/evaluations/{evaluation['id']}/improve")
        assert (rejected.status, "being improved already" in rejected.body["detail"]) == (409, True)
        assert (await anext(events))["type"] == "rewritten"
