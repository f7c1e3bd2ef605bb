"""Servers for tests that nothing is lost: a model server that records calls, readers that survive kills, and checks.

Every answer begins with the number of its call, so that a stored answer can be traced to the call.
"""

import asyncio
import random
import re
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
from aiohttp import web
from msgspec import Struct

from tests.support.databases import DatabaseKind, database_url, migrated_database_url
from tests.support.moot_server import MootServer, Reply

SECRET = "3tQz8Wf0Yb5KxN1rJv7LpS2cHd9GmU4e"
CLUSTER_TIMEOUT_SECONDS = 120.0  # after this time a wait fails
RETRY_SECONDS = 0.05
CONNECTION_ERRORS = (aiohttp.ClientError, OSError, TimeoutError)
CALL_NUMBER = re.compile(r"#(\d+) ")

# How many words a model answers, and the seconds between them, by the first part of its name.
MODEL_SPEEDS = {"quick": (3, 0.0), "brisk": (6, 0.01), "steady": (14, 0.04), "endless": (100_000, 0.05)}
ENDLESS_ON_FIRST_CALL = "yielding"  # is endless in its first call, then quick


class ModelCall(Struct):
    """One call of a model. `disconnected_at` is when its client disconnected before the end."""

    number: int
    model: str
    prompt: str
    finished: bool = False
    disconnected_at: float | None = None


class FakeModelServer:
    """A model server that records its calls, and whether each answer was read to its end."""

    def __init__(self) -> None:
        self.calls: list[ModelCall] = []
        self.url = ""
        self._numbers = count(1)

    @property
    def settings(self) -> str:
        return f'[providers.lab]\napi = "openai"\nbase_url = "{self.url}/v1"\n'

    def calls_to_model(self, model: str) -> list[ModelCall]:
        return [call for call in self.calls if call.model == model]

    async def handle_completion(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt = "\n".join(str(message["content"]) for message in body["messages"])
        call = ModelCall(next(self._numbers), body["model"], prompt)
        self.calls.append(call)
        try:
            return await self._stream_answer(request, call)
        except (ConnectionError, asyncio.CancelledError):
            call.disconnected_at = time.monotonic()
            raise

    async def _stream_answer(self, request: web.Request, call: ModelCall) -> web.StreamResponse:
        words, interval_seconds = MODEL_SPEEDS[self._model_speed(call.model)]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(completion_chunk(f"#{call.number} "))
        for word in range(words):
            await asyncio.sleep(interval_seconds)
            await response.write(completion_chunk(f"w{word} "))
        await response.write(completion_chunk("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    def _model_speed(self, model: str) -> str:
        kind = model.partition("-")[0]
        if kind == ENDLESS_ON_FIRST_CALL:
            return "endless" if len(self.calls_to_model(model)) == 1 else "quick"
        return kind

    @asynccontextmanager
    async def serve(self) -> AsyncIterator["FakeModelServer"]:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", self.handle_completion)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.2, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            bound: Any = runner.addresses[0]
            self.url = f"http://127.0.0.1:{bound[1]}"
            yield self
        finally:
            await runner.cleanup()


def completion_chunk(text: str, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish_reason}
    return b"data: " + msgspec.json.encode({"choices": [choice]}) + b"\n\n"


class ServerCluster:
    """A model server, a database, and the Moot servers that use them."""

    def __init__(self, folder: Path, url: str, model_server: FakeModelServer, lease_seconds: float) -> None:
        folder.mkdir(exist_ok=True)
        self.model_server = model_server
        self.url = url
        self._folder = folder
        self._lease_seconds = lease_seconds
        self.servers: list[MootServer] = []
        self.paused: set[MootServer] = set()

    async def add_server(self, *, start: bool = True) -> MootServer:
        folder = self._folder / f"server-{len(self.servers)}"
        folder.mkdir()
        server = MootServer(
            folder,
            self.url,
            settings=self.model_server.settings,
            MOOT_SECRET=SECRET,
            MOOT_WORKER_LEASE_SECONDS=str(self._lease_seconds),
        )
        self.servers.append(server)
        if start:
            await server.start()
        return server

    @property
    def database_file(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    def running_servers(self) -> list[MootServer]:
        running = [s for s in self.servers if s.process is not None and s.process.poll() is None]
        return [server for server in running if server not in self.paused]

    async def post_until_accepted(self, path: str, body: object, on_server: MootServer | None = None) -> Reply:
        """Post to one server, or to every running one, until one accepts. An idempotency key prevents a second run."""
        headers = {"Idempotency-Key": f"key-{random.getrandbits(64)}"}
        async with asyncio.timeout(CLUSTER_TIMEOUT_SECONDS):
            while True:
                for server in [on_server] if on_server else self.running_servers():
                    try:
                        reply = await server.post(path, body, headers)
                    except CONNECTION_ERRORS:
                        continue
                    if reply.status != 503:
                        assert reply.status in {200, 201, 202}, reply
                        return reply
                await asyncio.sleep(RETRY_SECONDS)

    async def get_json(self, path: str) -> Any:
        async with asyncio.timeout(CLUSTER_TIMEOUT_SECONDS):
            while True:
                for server in self.running_servers():
                    try:
                        reply = await server.get(path)
                    except CONNECTION_ERRORS:
                        continue
                    if reply.status == 200:
                        return reply.body
                    assert reply.status == 503, reply
                await asyncio.sleep(RETRY_SECONDS)

    async def open_discussion(
        self, mode: str, *models: str, rounds: int = 2, on_server: MootServer | None = None, **more: Any
    ) -> "RunReader":
        """Create a discussion, and return a reader of its run."""
        body = {
            "message": "What shall we do?",
            "mode": mode,
            "rounds": rounds,
            "language": "en",
            "participants": [f"lab/{model}" for model in models],
            **more,
        }
        started = (await self.post_until_accepted("/api/discussions", body, on_server)).body
        return RunReader(self, started["discussion"]["id"], started["run"]["id"])

    async def send_message(self, discussion: str, on_server: MootServer | None = None) -> "RunReader":
        body = {"message": "And then?"}
        started = (await self.post_until_accepted(f"/api/discussions/{discussion}/messages", body, on_server)).body
        return RunReader(self, discussion, started["run"]["id"])

    async def continue_discussion(self, discussion: str, turns: int) -> "RunReader":
        started = (await self.post_until_accepted(f"/api/discussions/{discussion}/continue", {"turns": turns})).body
        return RunReader(self, discussion, started["run"]["id"])

    async def kill_and_restart(self) -> None:
        """Kill the only server, and start it again."""
        [server] = self.servers
        server.kill()
        await server.start()

    async def close(self) -> None:
        for server in self.servers:
            await server.close()


ClusterType = TypeVar("ClusterType", bound=ServerCluster)


@asynccontextmanager
async def start_cluster(
    kind: DatabaseKind, folder: Path, *, servers: int = 1, lease_seconds: float = 10.0, empty: bool = False
) -> AsyncIterator[ServerCluster]:
    """Start servers on a database that has all tables, or on an `empty` one."""
    database = database_url if empty else migrated_database_url
    async with FakeModelServer().serve() as model_server, database(kind, folder) as url:
        cluster = ServerCluster(folder, url, model_server, lease_seconds)
        try:
            await asyncio.gather(*(cluster.add_server() for _ in range(servers)))
            yield cluster
        finally:
            await cluster.close()


@asynccontextmanager
async def start_cluster_with_models(
    cluster_type: type[ClusterType],
    models: FakeModelServer,
    kind: DatabaseKind,
    folder: Path,
    lease_seconds: float = 10.0,
) -> AsyncIterator[ClusterType]:
    """Start a cluster of one server, with its own models."""
    async with models.serve(), migrated_database_url(kind, folder) as url:
        cluster = cluster_type(folder, url, models, lease_seconds)
        try:
            await cluster.add_server()
            yield cluster
        finally:
            await cluster.close()


class RunReader:
    """Reads the events of one run to the end, from any running server, without gaps or repeated events."""

    def __init__(self, cluster: ServerCluster, discussion: str, run: str) -> None:
        self.discussion = discussion
        self.run = run
        self.events: list[Any] = []
        self.received_at: list[float] = []
        self._cluster = cluster
        self._task = asyncio.create_task(self._read())

    @property
    def is_finished(self) -> bool:
        return bool(self.events) and self.events[-1]["type"] == "run_ended"

    async def _read(self) -> None:
        attempt = count(1)
        while not self.is_finished:
            servers = self._cluster.running_servers()
            if servers:
                with suppress(*CONNECTION_ERRORS):
                    await self._read_from(servers[-next(attempt) % len(servers)])
            if not self.is_finished:
                await asyncio.sleep(RETRY_SECONDS)

    async def _read_from(self, server: MootServer) -> None:
        headers = {"Last-Event-ID": str(len(self.events))}
        path = f"/api/runs/{self.run}/events"
        async with server.http.get(server.url + path, headers=headers) as response:
            if response.status == 503:
                return
            assert response.status == 200, (response.status, await response.text())
            rest = b""
            async for piece in response.content.iter_any():
                *blocks, rest = (rest + piece).split(b"\n\n")
                for block in blocks:
                    self._append_event(block.decode())

    def _append_event(self, block: str) -> None:
        if block.startswith(":"):
            return
        number, _, data = block.removeprefix("id: ").partition("\ndata: ")
        assert number == str(len(self.events) + 1), f"{block} came after {len(self.events)}"
        self.events.append(msgspec.json.decode(data))
        self.received_at.append(time.monotonic())

    async def wait_until(self, condition: Callable[[list[Any]], bool]) -> None:
        async with asyncio.timeout(CLUSTER_TIMEOUT_SECONDS):
            while not condition(self.events):
                if self._task.done():
                    self._task.result()
                    raise AssertionError(f"the run ended before: {self.events}")
                await asyncio.sleep(0.005)

    async def wait_for_text(self, participants: int = 1) -> None:
        """Wait until so many participants have streamed text."""

        def enough(events: list[Any]) -> bool:
            return len({e["participant"] for e in events if e["type"] == "text_delta"}) >= participants

        await self.wait_until(enough)

    async def wait_for_end(self) -> str:
        """Wait for the end of the run, and return its status."""
        async with asyncio.timeout(CLUSTER_TIMEOUT_SECONDS):
            await self._task
        status: str = self.events[-1]["status"]
        return status

    async def check_stored_answers(self) -> list[Any]:
        """Compare the events with the stored answers and the recorded calls; return the stored answers."""
        await self.wait_for_end()
        assert [event["seq"] for event in self.events] == list(range(1, len(self.events) + 1))
        kinds = Counter(event["type"] for event in self.events)
        assert kinds["run_started"] == kinds["run_ended"] == 1, kinds
        assert self.events[-1]["status"] == (await self._cluster.get_json(f"/api/runs/{self.run}"))["status"]
        again = RunReader(self._cluster, self.discussion, self.run)
        await again.wait_for_end()
        assert again.events == self.events
        opened = await self._cluster.get_json(f"/api/discussions/{self.discussion}?limit=100")
        answers = [m for m in opened["messages"] if m["run"] == self.run and m["role"] == "assistant"]
        self._check_turns(answers)
        self._check_calls(answers)
        return answers

    def _check_turns(self, answers: list[Any]) -> None:
        """Check that every started turn ended once, with the streamed text, and is stored with it."""
        streamed: defaultdict[tuple[str, str, int], str] = defaultdict(str)
        ended: dict[tuple[str, str, int], str] = {}
        for event in self.events:
            turn_key = (event.get("participant"), event.get("stage"), event.get("round"))
            match event["type"]:
                case "turn_started":
                    assert turn_key not in ended, f"{turn_key} was started again after its end"
                    streamed[turn_key] = ""
                case "text_delta":
                    streamed[turn_key] += event["text"]
                case "turn_ended":
                    assert turn_key not in ended, f"{turn_key} ended twice"
                    ended[turn_key] = event["message"]["text"]
                    streamed[turn_key] += ""  # a turn that is stopped before it starts has no text
        assert streamed == ended
        stored = [((m["participant"], m["stage"], m["round"]), m["content"]) for m in answers]
        assert len(stored) == len(dict(stored))
        assert dict(stored) == ended

    def _check_calls(self, answers: list[Any]) -> None:
        """Check that no model was called again after its answer was stored, and that completed answers were read to the end."""
        for answer in answers:
            model = answer["model"].removeprefix("lab/")
            if not (match := CALL_NUMBER.match(answer["content"])):
                assert (answer["content"], answer["status"] == "completed") == ("", False)
                continue
            number = int(match[1])
            calls = self._cluster.model_server.calls_to_model(model)
            answered_call = next(call for call in calls if call.number == number)
            if answer["status"] == "completed":
                assert answered_call.finished, answer
            for later in calls:
                if later.number > number:
                    assert f"#{number} " in later.prompt, f"{model} was called again after {answer['content']!r}"


@contextmanager
def seeded_random(seed: int) -> Iterator[random.Random]:
    """Yield a random generator. If the test fails, the error contains the seed."""
    try:
        yield random.Random(seed)  # noqa: S311 - for moments, not for secrets
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise


def print_measurement(text: str) -> None:
    """Print a measurement (shown by `pytest -s`)."""
    sys.stdout.write(f"{text}\n")
