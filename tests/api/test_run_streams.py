"""Event streams of a run: they have every event, resume after any event, and use bounded memory."""

import asyncio
import socket
from contextlib import aclosing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.api.api_client import SCRIPTS, ApiClient, ended_turn, participant_text
from tests.support.databases import DATABASE_KINDS
from tests.support.moot_server import SERVER_TIMEOUT_SECONDS, MootServer, ServerSentEvent

pytestmark = pytest.mark.asyncio(loop_scope="module")

on_both_databases = pytest.mark.parametrize(
    "api_client", DATABASE_KINDS, indirect=True
)  # central enough for both databases every time
LANES = 8
SETTLED_SAMPLES = 5  # samples of memory before it counts as settled
MEGABYTE = 1024**2


async def test_create_discussion_responds_before_model_is_called(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("scripted/silence", message="Is anybody there?\nIt is dark.")
    assert opened["discussion"]["title"] == "Is anybody there?"
    assert opened["discussion"]["participants"] == [{"id": "alpha", "name": "Alpha", "model": "scripted/silence"}]
    assert (opened["run"]["status"], opened["run"]["message"]) == ("waiting", opened["message"]["id"])

    found = await api_client.get_discussion(opened["discussion"]["id"])
    assert found["messages"] == [opened["message"]]
    assert [run["id"] for run in found["runs"]] == [opened["run"]["id"]]

    await api_client.server.post(f"/api/runs/{opened['run']['id']}/stop")
    assert (await api_client.server.run_events(opened["run"]["id"]))[-1]["status"] == "stopped"
    assert (await api_client.get_discussion(opened["discussion"]["id"]))["runs"] == []


async def test_parallel_lanes_stream_concurrently(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/long", "lab/long", mode="parallel")
    run = opened["run"]["id"]
    speaking: set[str] = set()
    async with aclosing(api_client.server.events(f"/api/runs/{run}/events")) as frames:
        async for frame in frames:
            assert frame.data["type"] != "turn_ended", "both start before either ends"
            if frame.data["type"] == "text_delta":
                speaking.add(frame.data["participant"])
            if speaking == {"alpha", "beta"}:
                break
    await api_client.server.post(f"/api/runs/{run}/stop")
    events = await api_client.server.run_events(run)
    assert {ended_turn(events, who)["status"] for who in ("alpha", "beta")} == {"stopped"}


@on_both_databases
async def test_stored_messages_equal_streamed_text(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/even", "lab/even", mode="parallel")
    events = await api_client.server.run_events(opened["run"]["id"])
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run_started", "run_ended")
    stored = {m["participant"]: m for m in await api_client.list_answers(opened["discussion"]["id"])}
    for who in ("alpha", "beta"):
        streamed = participant_text(events, who)
        assert streamed == SCRIPTS["even"].answer
        assert streamed == ended_turn(events, who)["message"]["text"] == stored[who]["content"]
        assert (stored[who]["status"], stored[who]["model"]) == ("completed", "lab/even")
        assert stored[who]["usage"]["output"] > 0


@on_both_databases
async def test_event_stream_resumes_after_every_event_id(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion("lab/quick", "lab/other", mode="parallel")
    path = f"/api/runs/{opened['run']['id']}/events"
    everything = [frame.id async for frame in api_client.server.events(path)]
    assert everything == list(range(1, len(everything) + 1))
    for number in everything[:-1]:
        by_query = [frame.id async for frame in api_client.server.events(f"{path}?after={number}")]
        by_header = [
            frame.id async for frame in api_client.server.events(f"{path}?after=0", {"Last-Event-ID": str(number)})
        ]
        assert by_query == by_header == everything[number:]
    for header, query in (({}, f"?after={everything[-1]}"), ({"Last-Event-ID": str(everything[-1])}, "")):
        reply = await api_client.server.get(path + query, header)
        assert (reply.status, reply.text) == (204, "")


@on_both_databases
async def test_repeated_reconnects_to_active_run_miss_no_event(api_client: ApiClient) -> None:
    opened = await api_client.create_discussion("lab/even", "lab/even", mode="parallel")
    seen: list[ServerSentEvent] = []
    while not seen or seen[-1].data["type"] != "run_ended":
        after = str(seen[-1].id) if seen else "0"
        path = f"/api/runs/{opened['run']['id']}/events"
        async with aclosing(api_client.server.events(path, {"Last-Event-ID": after})) as frames:
            async for frame in frames:
                seen.append(frame)
                if frame.data["type"] == "text_delta":
                    break
    assert [frame.id for frame in seen] == list(range(1, len(seen) + 1))
    assert participant_text([frame.data for frame in seen], "beta") == SCRIPTS["even"].answer


def resident_bytes(server: MootServer) -> int:
    """Return the resident memory of a server's process."""
    status = Path(f"/proc/{server.running_process.pid}/status").read_text("utf-8")
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS"))
    return int(kilobytes) * 1024


def open_unread_socket(server: MootServer, path: str) -> socket.socket:
    """Ask for a stream and never read it."""
    address = urlsplit(server.url)
    sock = socket.socket()
    sock.settimeout(SERVER_TIMEOUT_SECONDS)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect((address.hostname, address.port))
    sock.sendall(f"GET {path} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
    return sock


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux has /proc")
async def test_clients_that_do_not_read_use_bounded_memory(api_client: ApiClient) -> None:
    opened = await api_client.create_finished_discussion(*["lab/big"] * LANES, mode="parallel")
    path = f"/api/runs/{opened['run']['id']}/events"
    whole = len((await api_client.server.get(path)).text)
    assert whole > LANES * 2 * 180_000
    before = resident_bytes(api_client.server)
    stuck = [open_unread_socket(api_client.server, path) for _ in range(40)]
    for sock in stuck:
        await asyncio.to_thread(sock.recv, 1, socket.MSG_PEEK)  # waits until the server sends to it
    held = [0]
    while len(held) <= SETTLED_SAMPLES or held[-1] > held[-SETTLED_SAMPLES] + MEGABYTE:
        await asyncio.sleep(0.1)
        held.append(resident_bytes(api_client.server) - before)
    for sock in stuck:
        sock.close()
    assert (await api_client.server.get("/readyz")).status == 200
    assert max(held) < whole * len(stuck) / 2  # a third is what a page of events, its bytes and the send buffers take
