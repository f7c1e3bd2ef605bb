"""Proving that nothing is lost: a model server that keeps a ledger, readers that survive their servers, and checks.

Every answer begins with the number of the call that gave it, so that what is stored can be traced to what was asked.
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

from tests.databases import Kind, database_url, migrated_url
from tests.serving import MootServer, Reply

SECRET = "3tQz8Wf0Yb5KxN1rJv7LpS2cHd9GmU4e"
PATIENCE = 120.0  # seconds within which whatever must happen has happened
AGAIN = 0.05
GONE = (aiohttp.ClientError, OSError, TimeoutError)
NUMBER = re.compile(r"#(\d+) ")

# How many words a model says, and how many seconds lie between them, by the first part of its name.
PACES = {"quick": (3, 0.0), "brisk": (6, 0.01), "steady": (14, 0.04), "endless": (100_000, 0.05)}
ENDLESS_AT_FIRST = "yielding"  # is endless when it is asked for the first time, then quick


class Call(Struct):
    """A model was asked; `left` is when whoever asked went away before the end."""

    number: int
    model: str
    prompt: str
    finished: bool = False
    left: float | None = None


class Ledger:
    """A model server that writes down who asked what, and whether the answer was taken to its end."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.url = ""
        self._numbers = count(1)

    @property
    def settings(self) -> str:
        return f'[providers.lab]\napi = "openai"\nbase_url = "{self.url}/v1"\n'

    def of(self, model: str) -> list[Call]:
        return [call for call in self.calls if call.model == model]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        prompt = "\n".join(str(said["content"]) for said in asked["messages"])
        call = Call(next(self._numbers), asked["model"], prompt)
        self.calls.append(call)
        try:
            return await self._speak(request, call)
        except (ConnectionError, asyncio.CancelledError):
            call.left = time.monotonic()
            raise

    async def _speak(self, request: web.Request, call: Call) -> web.StreamResponse:
        words, pace = PACES[self._pace(call.model)]
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(_delta(f"#{call.number} "))
        for word in range(words):
            await asyncio.sleep(pace)
            await response.write(_delta(f"w{word} "))
        await response.write(_delta("", "stop") + b"data: [DONE]\n\n")
        await response.write_eof()
        call.finished = True
        return response

    def _pace(self, model: str) -> str:
        kind = model.partition("-")[0]
        if kind == ENDLESS_AT_FIRST:
            return "endless" if len(self.of(model)) == 1 else "quick"
        return kind

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["Ledger"]:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", self.answer)
        runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.2, access_log=None)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            bound: Any = runner.addresses[0]
            self.url = f"http://127.0.0.1:{bound[1]}"
            yield self
        finally:
            await runner.cleanup()


def _delta(text: str, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return b"data: " + msgspec.json.encode({"choices": [choice]}) + b"\n\n"


class Site:
    """A ledger, a database, and the servers on it."""

    def __init__(self, folder: Path, url: str, ledger: Ledger, lease: float) -> None:
        folder.mkdir(exist_ok=True)
        self.ledger = ledger
        self.url = url
        self._folder = folder
        self._lease = lease
        self.servers: list[MootServer] = []
        self.paused: set[MootServer] = set()

    async def add(self, *, start: bool = True) -> MootServer:
        folder = self._folder / f"server-{len(self.servers)}"
        folder.mkdir()
        server = MootServer(
            folder,
            self.url,
            settings=self.ledger.settings,
            MOOT_SECRET=SECRET,
            MOOT_LEASE=str(self._lease),
        )
        self.servers.append(server)
        if start:
            await server.start()
        return server

    @property
    def file(self) -> Path:
        return Path(self.url.removeprefix("sqlite:///"))

    def up(self) -> list[MootServer]:
        there = [s for s in self.servers if s.process is not None and s.process.poll() is None]
        return [server for server in there if server not in self.paused]

    async def ask(self, path: str, body: object, at: MootServer | None = None) -> Reply:
        """Ask one, or whoever is there, until somebody answers; a key makes sure that it is done once."""
        headers = {"Idempotency-Key": f"key-{random.getrandbits(64)}"}
        async with asyncio.timeout(PATIENCE):
            while True:
                for server in [at] if at else self.up():
                    try:
                        reply = await server.post(path, body, headers)
                    except GONE:
                        continue
                    if reply.status != 503:
                        assert reply.status in {200, 201, 202}, reply
                        return reply
                await asyncio.sleep(AGAIN)

    async def get(self, path: str) -> Any:
        async with asyncio.timeout(PATIENCE):
            while True:
                for server in self.up():
                    try:
                        reply = await server.get(path)
                    except GONE:
                        continue
                    if reply.status == 200:
                        return reply.body
                    assert reply.status == 503, reply
                await asyncio.sleep(AGAIN)

    async def open(
        self, mode: str, *models: str, rounds: int = 2, at: MootServer | None = None, **more: Any
    ) -> "Reader":
        """Open a discussion, and read what is answered."""
        body = {
            "message": "What shall we do?",
            "mode": mode,
            "rounds": rounds,
            "language": "en",
            "participants": [f"lab/{model}" for model in models],
            **more,
        }
        started = (await self.ask("/api/discussions", body, at)).body
        return Reader(self, started["discussion"]["id"], started["run"]["id"])

    async def say(self, discussion: str, at: MootServer | None = None) -> "Reader":
        words = {"message": "And then?"}
        started = (await self.ask(f"/api/discussions/{discussion}/messages", words, at)).body
        return Reader(self, discussion, started["run"]["id"])

    async def go_on(self, discussion: str, turns: int) -> "Reader":
        started = (await self.ask(f"/api/discussions/{discussion}/continue", {"turns": turns})).body
        return Reader(self, discussion, started["run"]["id"])

    async def killed(self) -> None:
        """Kill the only server, and start it again."""
        [server] = self.servers
        server.kill()
        await server.start()

    async def close(self) -> None:
        for server in self.servers:
            await server.close()


SomeSite = TypeVar("SomeSite", bound=Site)


@asynccontextmanager
async def site(
    kind: Kind, folder: Path, *, servers: int = 1, lease: float = 10.0, empty: bool = False
) -> AsyncIterator[Site]:
    """Servers on a database that has all tables, or on one that is `empty`."""
    database = database_url if empty else migrated_url
    async with Ledger().serving() as ledger, database(kind, folder) as url:
        here = Site(folder, url, ledger, lease)
        try:
            await asyncio.gather(*(here.add() for _ in range(servers)))
            yield here
        finally:
            await here.close()


@asynccontextmanager
async def manned(
    place: type[SomeSite], models: Ledger, kind: Kind, folder: Path, lease: float = 10.0
) -> AsyncIterator[SomeSite]:
    """A place of one server, with models of its own behind it."""
    async with models.serving(), migrated_url(kind, folder) as url:
        here = place(folder, url, models, lease)
        try:
            await here.add()
            yield here
        finally:
            await here.close()


class Reader:
    """Reads one run to its end, from whichever server is there, and never twice or past a gap."""

    def __init__(self, site: Site, discussion: str, run: str) -> None:
        self.discussion = discussion
        self.run = run
        self.events: list[Any] = []
        self.at: list[float] = []
        self._site = site
        self._task = asyncio.create_task(self._read())

    @property
    def over(self) -> bool:
        return bool(self.events) and self.events[-1]["type"] == "run_ended"

    async def _read(self) -> None:
        place = count(1)
        while not self.over:
            up = self._site.up()
            if up:
                with suppress(*GONE):
                    await self._from(up[-next(place) % len(up)])
            if not self.over:
                await asyncio.sleep(AGAIN)

    async def _from(self, server: MootServer) -> None:
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
                    self._take(block.decode())

    def _take(self, block: str) -> None:
        if block.startswith(":"):
            return
        number, _, data = block.removeprefix("id: ").partition("\ndata: ")
        assert number == str(len(self.events) + 1), f"{block} came after {len(self.events)}"
        self.events.append(msgspec.json.decode(data))
        self.at.append(time.monotonic())

    async def until(self, there: Callable[[list[Any]], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not there(self.events):
                if self._task.done():
                    self._task.result()
                    raise AssertionError(f"the run ended before: {self.events}")
                await asyncio.sleep(0.005)

    async def spoken(self, participants: int = 1) -> None:
        """Wait until so many have spoken."""

        def enough(events: list[Any]) -> bool:
            return len({e["participant"] for e in events if e["type"] == "text_delta"}) >= participants

        await self.until(enough)

    async def ended(self) -> str:
        """Wait for the end, and return how it ended."""
        async with asyncio.timeout(PATIENCE):
            await self._task
        status: str = self.events[-1]["status"]
        return status

    async def check(self) -> list[Any]:
        """Hold what was read against what is stored and what was asked; return the answers that are stored."""
        await self.ended()
        assert [event["seq"] for event in self.events] == list(range(1, len(self.events) + 1))
        kinds = Counter(event["type"] for event in self.events)
        assert kinds["run_started"] == kinds["run_ended"] == 1, kinds
        assert self.events[-1]["status"] == (await self._site.get(f"/api/runs/{self.run}"))["status"]
        again = Reader(self._site, self.discussion, self.run)
        await again.ended()
        assert again.events == self.events
        opened = await self._site.get(f"/api/discussions/{self.discussion}?limit=100")
        answers = [m for m in opened["messages"] if m["run"] == self.run and m["role"] == "assistant"]
        self._check_turns(answers)
        self._check_calls(answers)
        return answers

    def _check_turns(self, answers: list[Any]) -> None:
        """Every turn that began ended once, with the words that were streamed, and is stored so."""
        shown: defaultdict[tuple[str, str, int], str] = defaultdict(str)
        ended: dict[tuple[str, str, int], str] = {}
        for event in self.events:
            seat = (event.get("participant"), event.get("stage"), event.get("round"))
            match event["type"]:
                case "turn_started":
                    assert seat not in ended, f"{seat} was asked again after its end"
                    shown[seat] = ""
                case "text_delta":
                    shown[seat] += event["text"]
                case "turn_ended":
                    assert seat not in ended, f"{seat} ended twice"
                    ended[seat] = event["message"]["text"]
                    shown[seat] += ""  # one that is stopped before it begins has said nothing
        assert shown == ended
        stored = [((m["participant"], m["stage"], m["round"]), m["content"]) for m in answers]
        assert len(stored) == len(dict(stored))
        assert dict(stored) == ended

    def _check_calls(self, answers: list[Any]) -> None:
        """Nobody was asked again once the answer was stored; and what is complete was given to its end."""
        for answer in answers:
            model = answer["model"].removeprefix("lab/")
            if not (said := NUMBER.match(answer["content"])):
                assert (answer["content"], answer["status"] == "completed") == ("", False)
                continue
            number = int(said[1])
            calls = self._site.ledger.of(model)
            given = next(call for call in calls if call.number == number)
            if answer["status"] == "completed":
                assert given.finished, answer
            for later in calls:
                if later.number > number:
                    assert f"#{number} " in later.prompt, (
                        f"{model} was asked again after {answer['content']!r}"
                    )


@contextmanager
def seeded(seed: int) -> Iterator[random.Random]:
    """A source of chance that can be had again; the seed is told when something fails."""
    try:
        yield random.Random(seed)  # noqa: S311 - for moments, not for secrets
    except BaseException as error:
        error.add_note(f"seed {seed}")
        raise


def figure(words: str) -> None:
    """Say what was measured, to those who want to see it (pytest -s)."""
    sys.stdout.write(f"{words}\n")
