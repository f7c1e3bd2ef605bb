"""The readers of all runs, in a process of their own: they read server-sent events, and count what is missing.

A chunk's text is the time at which the provider sent it, so a stream has arrived whole when as many times as the
provider sent have come, each later than the one before.
"""

import asyncio
import gc
import sys
import time
from typing import cast

import msgspec
import uvloop
from msgspec import Struct

from bench.server import allow_many_files

CONCURRENT_CONNECTS = 8  # streams that are opened at the same time
MAX_CUTS = 100
MAX_PROBLEMS = 5
RECONNECT_SECONDS = 0.01


class Order(Struct, frozen=True):
    """One line of the input: follow these runs, or measure between two times."""

    runs: list[str] = []
    lanes: int = 1
    chunks: int = 0
    newcomer: bool = False
    window: tuple[float, float] | None = None


class ReaderReport(Struct, frozen=True):
    """The totals of all readers. Lateness is in seconds, and that of chunks only within the window.

    `cuts` counts connections that the server closed too early; their readers resume.
    """

    chunks: int
    events: int
    late: list[float]
    first: list[float]
    newcomers: list[float]
    lost: int
    cuts: int
    troubles: list[str]


class Answer(Struct):
    text: str = ""


class Event(Struct):
    type: str
    participant: str = ""
    text: str = ""
    status: str = ""
    attempt: int = 1
    message: Answer | str = ""


class Lane(Struct):
    first: float | None = None
    last: float = 0.0
    chunks: int = 0
    characters: int = 0


class ReaderTotals:
    """The totals of all readers, while they read."""

    def __init__(self) -> None:
        self.window = (float("inf"), float("inf"))
        self.chunks = self.events = self.lost = self.cuts = 0
        self.late: list[float] = []
        self.first: list[float] = []
        self.newcomers: list[float] = []
        self.problems: list[str] = []
        self.readers: list[Reader] = []
        self.reconnects: asyncio.Queue[Reader] = asyncio.Queue()  # readers that were disconnected, and resume

    def record(self, sent: float, now: float) -> None:
        if self.window[0] <= now < self.window[1]:
            self.chunks += 1
            self.late.append(now - sent)

    def report(self) -> ReaderReport:
        return ReaderReport(
            self.chunks,
            self.events,
            self.late,
            self.first,
            self.newcomers,
            self.lost,
            self.cuts,
            self.problems[:MAX_PROBLEMS],
        )


class Reader(asyncio.Protocol):
    decode = msgspec.json.Decoder(Event).decode

    def __init__(self, run: str, order: Order, totals: ReaderTotals) -> None:
        self._run = run
        self._order = order
        self._totals = totals
        self._rest = b""
        self._last = 0
        self._ended = False
        self._cuts = 0
        self.connected: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lanes: dict[str, Lane] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._has_status = False
        path = f"/api/runs/{self._run}/events?after={self._last}"
        self._transport.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        now = time.monotonic()
        if not self._has_status:
            self._has_status = True
            if not data.startswith(b"HTTP/1.1 200 "):
                self._add_problem(data.partition(b"\r\n")[0].decode("latin-1"))
                self._transport.close()
                return
        *blocks, self._rest = (self._rest + data).split(b"\n\n")
        for block in blocks:
            if not self.connected.done():
                self.connected.set_result(None)
            numbered, _, body = block.rpartition(b"\r\n")[2].partition(b"\ndata: ")
            if body:
                self._check_number(numbered)
                self._read(self.decode(body), now)
        if self._ended:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._ended or self._cuts == MAX_CUTS:
            received = sum(lane.chunks for lane in self._lanes.values())
            self._totals.lost += self._order.lanes * self._order.chunks - received
            self.finished.set_result(None)
        else:
            self._cuts += 1
            self._totals.cuts += 1
            self._rest = b""
            self._totals.reconnects.put_nowait(self)

    def _check_number(self, id_line: bytes) -> None:
        number = int(id_line.removeprefix(b"id: "))
        if number != self._last + 1:
            self._add_problem(f"{number} came after {self._last}")
        self._last = number

    def _read(self, event: Event, now: float) -> None:
        lane = self._lanes.setdefault(event.participant, Lane())
        match event.type:
            case "text_delta":
                self._record_text(lane, event.text, now)
            case "turn_started" if event.attempt > 1:
                self._add_problem(f"{event.participant} was called again")
            case "turn_ended":
                self._compare(lane, event)
            case "run_ended":
                self._ended = True

    def _record_text(self, lane: Lane, text: str, now: float) -> None:
        lane.characters += len(text)
        if self._totals.window[0] <= now < self._totals.window[1]:
            self._totals.events += 1
        for stamp in text.split():
            sent = float(stamp)
            if sent <= lane.last:
                self._add_problem(f"{sent} came after {lane.last}")
            if lane.first is None:
                lane.first = now - sent
                (self._totals.newcomers if self._order.newcomer else self._totals.first).append(lane.first)
            lane.last = sent
            lane.chunks += 1
            self._totals.record(sent, now)

    def _compare(self, lane: Lane, event: Event) -> None:
        """Check that the answer of a turn has the length of its streamed text."""
        text = event.message.text if isinstance(event.message, Answer) else ""
        if event.status != "completed" or len(text) != lane.characters:
            self._add_problem(f"a turn {event.status} with {len(text)} characters of {lane.characters} streamed")

    def _add_problem(self, text: str) -> None:
        self._totals.problems.append(f"{self._run}: {text}")


async def read(address: str) -> None:
    """Execute the lines of the input, confirm each, and print a report at the end."""
    totals = ReaderTotals()
    lines = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    reconnecting = asyncio.create_task(_reconnect(address, totals))
    while line := await lines.readline():
        order = msgspec.json.decode(line, type=Order)
        totals.window = order.window or totals.window
        for position in range(0, len(order.runs), CONCURRENT_CONNECTS):
            readers = [Reader(run, order, totals) for run in order.runs[position : position + CONCURRENT_CONNECTS]]
            await asyncio.gather(*(_connect(address, reader) for reader in readers))
            await asyncio.gather(*(reader.connected for reader in readers))
            totals.readers += readers
        print("obeyed", flush=True)
    await asyncio.gather(*(reader.finished for reader in totals.readers))
    reconnecting.cancel()
    sys.stdout.buffer.write(msgspec.json.encode(totals.report()) + b"\n")


async def _connect(address: str, reader: Reader) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    await asyncio.get_running_loop().create_connection(lambda: reader, host, int(port))


async def _reconnect(address: str, totals: ReaderTotals) -> None:
    while True:
        reader = await totals.reconnects.get()
        await asyncio.sleep(RECONNECT_SECONDS)
        await _connect(address, reader)


if __name__ == "__main__":
    allow_many_files()
    gc.disable()
    uvloop.run(read(sys.argv[1]))
