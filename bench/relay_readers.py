"""A process that reads the server-sent events of all runs, measures the latency of chunks, and counts lost chunks.

The text of a chunk is the time at which the provider sent it. A stream is complete if the reader received the expected
number of timestamps, in ascending command.
"""

import asyncio
import gc
import sys
import time
from typing import cast

import msgspec
import uvloop
from msgspec import Struct

from bench.provider_server import raise_open_file_limit

CONCURRENT_CONNECTS = 8  # connections that the process opens at the same time
MAX_DISCONNECTS = 100
MAX_PROBLEMS = 5
RECONNECT_SECONDS = 0.01


class ReaderCommand(Struct, frozen=True):
    """One input line: read the events of these runs, or set the time window of the measurement."""

    runs: list[str] = []
    lanes: int = 1
    chunks: int = 0
    extra_run: bool = False
    window: tuple[float, float] | None = None


class ReaderReport(Struct, frozen=True):
    """The totals of all readers. Latencies are in seconds; `latencies` has the chunks of the time window only.

    `disconnects` counts connections that the server closed before the end of the run; the reader connects again.
    """

    chunks: int
    events: int
    latencies: list[float]
    first_latencies: list[float]
    extra_run_latencies: list[float]
    lost: int
    disconnects: int
    problems: list[str]


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
    """Collects the values of all readers."""

    def __init__(self) -> None:
        self.window = (float("inf"), float("inf"))
        self.chunks = self.events = self.lost = self.disconnects = 0
        self.latencies: list[float] = []
        self.first_latencies: list[float] = []
        self.extra_run_latencies: list[float] = []
        self.problems: list[str] = []
        self.readers: list[Reader] = []
        self.reconnects: asyncio.Queue[Reader] = asyncio.Queue()  # readers without a connection

    def record_chunk(self, sent: float, now: float) -> None:
        if self.window[0] <= now < self.window[1]:
            self.chunks += 1
            self.latencies.append(now - sent)

    def build_report(self) -> ReaderReport:
        return ReaderReport(
            self.chunks,
            self.events,
            self.latencies,
            self.first_latencies,
            self.extra_run_latencies,
            self.lost,
            self.disconnects,
            self.problems[:MAX_PROBLEMS],
        )


class Reader(asyncio.Protocol):
    """The client connection that reads the event stream of one run."""

    decode = msgspec.json.Decoder(Event).decode

    def __init__(self, run: str, command: ReaderCommand, totals: ReaderTotals) -> None:
        self._run = run
        self._command = command
        self._totals = totals
        self._rest = b""
        self._last = 0
        self._ended = False
        self._disconnects = 0
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
            id_line, _, body = block.rpartition(b"\r\n")[2].partition(b"\ndata: ")
            if body:
                self._check_event_id(id_line)
                self._handle_event(self.decode(body), now)
        if self._ended:
            self._transport.close()

    def connection_lost(self, _: Exception | None) -> None:
        if self._ended or self._disconnects == MAX_DISCONNECTS:
            received = sum(lane.chunks for lane in self._lanes.values())
            self._totals.lost += self._command.lanes * self._command.chunks - received
            self.finished.set_result(None)
        else:
            self._disconnects += 1
            self._totals.disconnects += 1
            self._rest = b""
            self._totals.reconnects.put_nowait(self)

    def _check_event_id(self, id_line: bytes) -> None:
        number = int(id_line.removeprefix(b"id: "))
        if number != self._last + 1:
            self._add_problem(f"{number} received after {self._last}")
        self._last = number

    def _handle_event(self, event: Event, now: float) -> None:
        lane = self._lanes.setdefault(event.participant, Lane())
        match event.type:
            case "text_delta":
                self._record_text(lane, event.text, now)
            case "turn_started" if event.attempt > 1:
                self._add_problem(f"{event.participant} had a retry")
            case "turn_ended":
                self._check_answer(lane, event)
            case "run_ended":
                self._ended = True

    def _record_text(self, lane: Lane, text: str, now: float) -> None:
        lane.characters += len(text)
        if self._totals.window[0] <= now < self._totals.window[1]:
            self._totals.events += 1
        for timestamp in text.split():
            sent = float(timestamp)
            if sent <= lane.last:
                self._add_problem(f"{sent} received after {lane.last}")
            if lane.first is None:
                lane.first = now - sent
                (self._totals.extra_run_latencies if self._command.extra_run else self._totals.first_latencies).append(
                    lane.first
                )
            lane.last = sent
            lane.chunks += 1
            self._totals.record_chunk(sent, now)

    def _check_answer(self, lane: Lane, event: Event) -> None:
        """Check that the message of a turn has the same length as its streamed text."""
        text = event.message.text if isinstance(event.message, Answer) else ""
        if event.status != "completed" or len(text) != lane.characters:
            self._add_problem(f"turn {event.status} with {len(text)} characters, {lane.characters} streamed")

    def _add_problem(self, text: str) -> None:
        self._totals.problems.append(f"{self._run}: {text}")


async def run_readers(address: str) -> None:
    """Execute the command of each input line, print a response line for each, and print the report at the end of input."""
    totals = ReaderTotals()
    lines = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    task = asyncio.create_task(_reopen_connections(address, totals))
    while line := await lines.readline():
        command = msgspec.json.decode(line, type=ReaderCommand)
        totals.window = command.window or totals.window
        for position in range(0, len(command.runs), CONCURRENT_CONNECTS):
            readers = [Reader(run, command, totals) for run in command.runs[position : position + CONCURRENT_CONNECTS]]
            await asyncio.gather(*(_open_connection(address, reader) for reader in readers))
            await asyncio.gather(*(reader.connected for reader in readers))
            totals.readers += readers
        print("done", flush=True)
    await asyncio.gather(*(reader.finished for reader in totals.readers))
    task.cancel()
    sys.stdout.buffer.write(msgspec.json.encode(totals.build_report()) + b"\n")


async def _open_connection(address: str, reader: Reader) -> None:
    host, _, port = address.removeprefix("http://").partition(":")
    await asyncio.get_running_loop().create_connection(lambda: reader, host, int(port))


async def _reopen_connections(address: str, totals: ReaderTotals) -> None:
    while True:
        reader = await totals.reconnects.get()
        await asyncio.sleep(RECONNECT_SECONDS)
        await _open_connection(address, reader)


if __name__ == "__main__":
    raise_open_file_limit()
    gc.disable()
    uvloop.run(run_readers(sys.argv[1]))
