"""`moot ask`: build the run from options and settings, and pick the reader that fits where it is read."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from moot import settings
from moot.app import event_loop
from moot.cli.ask_options import Options, check, plan, typed
from moot.cli.interrupt import stopped_by_ctrl_c
from moot.cli.seating import Lane, seated
from moot.cli.tools import workshop
from moot.engine.runs import inline
from moot.engine.runs.inline import RunLog
from moot.engine.tools.session import Workshop
from moot.engine.turns.model_caller import Speaker
from moot.prompts.attachments import LARGEST, question, read_file
from moot.providers.registry import Registry
from moot.streaming.cancellation import Stop
from moot.terminal.readers import Json, Reader
from moot.terminal.select import not_written, reader_for
from moot.terminal.usage import paid, usage_lines
from moot.types.billing import Charge
from moot.types.chunks import Usage
from moot.types.errors import UsageError
from moot.types.events import Event, Finding, RunEnded, TurnEnded
from moot.types.requests import File, Message
from moot.whiteboard.render.png import png
from moot.whiteboard.render.svg import svg
from moot.whiteboard.state import ACTS, Board, Entry, drawn, replayed

SILENT_SECONDS = 10.0


def run(options: Options) -> int:
    return event_loop.run(_run(options, _piped()))


async def _run(options: Options, piped: str) -> int:
    if not (options.question.strip() or piped.strip()):
        raise UsageError('There is no question: write moot ask "your question".')
    check(options)
    chosen = settings.load(options.config, os.environ)
    files = tuple(read_file(path) for path in options.files)
    async with Registry(chosen.providers, os.environ) as registry:
        lanes = await seated(options.models, files, chosen, registry)
        if options.cap is not None:
            await _tell_of_unknown_prices(lanes)
        asked, speaker = _asked(options, piped, files), Speaker(chosen.limits)
        names = {lane.participant.id: lane.participant.name for lane in lanes}
        async with workshop(options.tools, chosen.tools, os.environ, names) as tools:
            return await _ask(options, lanes, asked, speaker, tools)


async def _tell_of_unknown_prices(lanes: Sequence[Lane]) -> None:
    """Say where a cap cannot hold."""
    for model in {model.name: model for lane in lanes for model in lane.chain}.values():
        if await asyncio.to_thread(model.provider.cost, model.model, Usage(1, 1)) is None:
            sys.stderr.write(f"moot: The price of {model.name} is not known: --cap does not count it.\n")


def _piped() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise UsageError(f"Standard input is larger than {LARGEST // 2**20} MB: send less of it.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("Standard input is not text: attach images and PDF with --file.") from None


def _asked(options: Options, piped: str, files: Sequence[File]) -> Message:
    words, context = (typed(options.question), piped) if options.question.strip() else (piped, "")
    return question(words, context, files)


class Following:
    """Hands a run's events to its reader, and remembers what is needed afterwards."""

    def __init__(self, reader: Reader, stop: Stop) -> None:
        self.turns: list[TurnEnded] = []
        self.minutes: list[Finding | Charge] = []
        self._acts: list[Event] = []
        self.unwritten: OSError | None = None
        self._reader = reader
        self._stop = stop
        self._clock = asyncio.get_running_loop().time
        self._heard_at = self._clock()

    def __call__(self, events: Sequence[Event]) -> None:
        self._heard_at = self._clock()
        self.turns += [event for event in events if isinstance(event, TurnEnded)]
        self._acts += [event for event in events if isinstance(event, ACTS)]
        self.minutes += [call for event in events if (call := paid(event)) is not None]
        try:
            self._reader(events)
        except OSError as error:  # whoever read our output has left, or the disk is full
            self.unwritten = error
            self._stop.request()

    @property
    def drawn(self) -> Sequence[Entry]:
        return drawn(self._acts)

    async def say_when_silent(self) -> None:
        """Tell whoever waits, now and then, that nothing came yet."""
        while True:
            await asyncio.sleep(SILENT_SECONDS)
            if (silent := self._clock() - self._heard_at) >= SILENT_SECONDS:
                sys.stderr.write(f"moot: nothing came for {silent:.0f} s; Ctrl-C stops.\n")


async def _ask(
    options: Options, lanes: Sequence[Lane], asked: Message, speaker: Speaker, tools: Workshop | None
) -> int:
    participants = [lane.participant for lane in lanes]
    planned = plan(options, participants)
    chains = {lane.participant.id: lane.chain for lane in lanes}
    reader, stop = _reader(options, len(participants)), Stop()
    following = Following(reader, stop)
    patience = asyncio.create_task(following.say_when_silent()) if len(lanes) == 1 else None
    try:
        with stopped_by_ctrl_c(stop):
            ended = await inline.run(planned, asked, chains, RunLog(following), speaker, stop, workshop=tools)
    finally:
        if patience is not None:
            patience.cancel()
        with suppress(OSError):
            reader.close()
    if following.unwritten is not None:
        return not_written(following.unwritten)
    if options.board is not None:
        _write_board(options.board, replayed(following.drawn))
    if options.usage:
        lines = usage_lines(participants, following.turns, following.minutes)
        sys.stderr.write("".join(f"moot: {line}\n" for line in lines))
    return _exit_code(ended, following.turns, stop)


def _write_board(path: Path, board: Board) -> None:
    if not board.elements:
        sys.stderr.write(f"moot: Nothing was drawn: {path} is left as it is.\n")
        return
    try:
        path.write_bytes(png(board) if path.suffix == ".png" else svg(board).encode())
        sys.stderr.write(f"moot: The whiteboard is in {path}.\n")
    except OSError as error:
        raise UsageError(f"The whiteboard cannot be written to {path}: {error.strerror}.") from error


def _exit_code(ended: RunEnded, turns: Sequence[TurnEnded], stop: Stop) -> int:
    """Tell a run that somebody stopped from one that had reached its cap: that one has done what it could."""
    if stop.reason == "over_cap":
        return 0 if any(turn.status == "completed" for turn in turns) else 1
    match ended.status:
        case "stopped" | "interrupted":
            return 130
        case "failed":
            return 1
        case "completed":
            return 0


def _reader(options: Options, participants: int) -> Reader:
    if options.json:
        return Json(sys.stdout)
    return reader_for(options.mode, participants, asks=bool(options.tools))
