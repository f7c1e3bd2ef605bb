"""`moot ask`: runs one question in this process, without a server or database."""

import asyncio
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from moot import settings
from moot.app import event_loop
from moot.cli.approvals import open_tool_session
from moot.cli.ask_options import AskOptions, build_run_plan, repair_encoding, validate_options
from moot.cli.interrupt import stop_on_ctrl_c
from moot.cli.model_selection import resolve_default_model, select_models
from moot.engine.model_resolution import ModelChains
from moot.engine.runs.ephemeral import EphemeralRun, RunLog
from moot.engine.tools.session import ToolSession
from moot.engine.turns.model_caller import ModelCaller
from moot.prompts.attachments import MAX_FILE_BYTES, build_question, read_file
from moot.providers.registry import Registry
from moot.streaming.cancellation import StopSignal
from moot.terminal.readers import JsonLinesReader, RunReader
from moot.terminal.select import handle_write_error, select_reader
from moot.terminal.usage import usage_lines
from moot.types.chunks import Usage
from moot.types.errors import UsageError
from moot.types.events import Event, RunEnded, TurnEnded
from moot.types.participants import make_participants
from moot.types.run_state import RunState
from moot.whiteboard.render.png import render_png
from moot.whiteboard.render.svg import render_svg
from moot.whiteboard.state import Board, replay_actions

SILENCE_NOTICE_SECONDS = 10.0


def run_ask(options: AskOptions) -> int:
    """Read piped input before the event loop starts, so that Ctrl-C interrupts the read."""
    return event_loop.run_coroutine(_run_ask(options, _read_piped_input()))


async def _run_ask(options: AskOptions, piped: str) -> int:
    if not (options.question.strip() or piped.strip()):
        raise UsageError('question: missing. Run moot ask "your question".')
    validate_options(options)
    chosen = settings.load_settings(options.config, os.environ)
    files = tuple(read_file(path) for path in options.files)
    async with Registry(chosen.providers, os.environ) as registry:
        models = options.models or [await resolve_default_model(chosen, registry)]
        plan = build_run_plan(options, make_participants(tuple(models)))
        chains = await select_models(plan, files, chosen, registry)
        if options.max_cost_usd is not None:
            await _warn_unknown_prices(chains)
        question, context = (repair_encoding(options.question), piped) if options.question.strip() else (piped, "")
        run = EphemeralRun(plan=plan, question=build_question(question, context, files), chains=chains)
        names = {who.id: who.name for who in plan.participants}
        async with open_tool_session(options.tools, chosen.tools, os.environ, names) as tools:
            return await _ask_participants(options, run, ModelCaller(chosen.limits), tools)


async def _warn_unknown_prices(chains: ModelChains) -> None:
    """Warn about models whose cost `--max-cost-usd` cannot count."""
    for model in {model.name: model for chain in chains.values() for model in chain}.values():
        if await asyncio.to_thread(model.provider.call_cost_usd, model.model, Usage(1, 1)) is None:
            sys.stderr.write(f"moot: The price of {model.name} is unknown. --max-cost-usd does not count it.\n")


def _read_piped_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    data = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise UsageError(f"Standard input: larger than {MAX_FILE_BYTES // 2**20} MB. Send less.")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("Standard input: not UTF-8 text. Attach images and PDF with --file.") from None


class RunRecorder:
    """Event callback of a run: passes events to the reader, and keeps the state for the final output."""

    def __init__(self, reader: RunReader, stop: StopSignal) -> None:
        self.run = RunState()
        self.write_error: OSError | None = None
        self._reader = reader
        self._stop = stop
        self._clock = asyncio.get_running_loop().time
        self._last_event_at = self._clock()

    def __call__(self, events: Sequence[Event]) -> None:
        self._last_event_at = self._clock()
        for event in events:
            self.run.apply(event)
        try:
            self._reader(events)
        except OSError as error:  # the output pipe is closed, or the disk is full
            self.write_error = error
            self._stop.request_stop()

    async def report_silence(self) -> None:
        """Print a notice to stderr for each `SILENCE_NOTICE_SECONDS` without an event."""
        while True:
            await asyncio.sleep(SILENCE_NOTICE_SECONDS)
            if (silent := self._clock() - self._last_event_at) >= SILENCE_NOTICE_SECONDS:
                sys.stderr.write(f"moot: no output for {silent:.0f} s. Ctrl-C stops.\n")


async def _ask_participants(
    options: AskOptions, run: EphemeralRun, model_caller: ModelCaller, tool_session: ToolSession | None
) -> int:
    participants, stop = run.plan.participants, StopSignal()
    if options.json:
        reader: RunReader = JsonLinesReader(sys.stdout)
    else:
        reader = select_reader(options.mode, len(participants), may_prompt=bool(options.tools))
    recorder = RunRecorder(reader, stop)
    silence_task = asyncio.create_task(recorder.report_silence()) if len(participants) == 1 else None
    try:
        with stop_on_ctrl_c(stop):
            ended = await run.execute(RunLog(recorder), model_caller, stop, tool_session=tool_session)
    finally:
        if silence_task is not None:
            silence_task.cancel()
        with suppress(OSError):
            reader.close()
    if recorder.write_error is not None:
        return handle_write_error(recorder.write_error)
    if options.whiteboard is not None:
        _write_whiteboard(options.whiteboard, replay_actions(recorder.run.actions))
    if options.usage:
        lines = usage_lines(participants, recorder.run.ended_turns, recorder.run.analyses)
        sys.stderr.write("".join(f"moot: {line}\n" for line in lines))
    return _exit_code(ended, recorder.run.ended_turns, stop)


def _write_whiteboard(path: Path, board: Board) -> None:
    if not board.elements:
        sys.stderr.write(f"moot: The whiteboard is empty. {path} is unchanged.\n")
        return
    try:
        path.write_bytes(render_png(board) if path.suffix == ".png" else render_svg(board).encode())
        sys.stderr.write(f"moot: Wrote the whiteboard to {path}.\n")
    except OSError as error:
        raise UsageError(f"--whiteboard {path}: cannot write the file: {error.strerror}.") from error


def _exit_code(run_ended: RunEnded, turns: Sequence[TurnEnded], stop: StopSignal) -> int:
    """Return 130 for a run that the user stopped. A run that reached `--max-cost-usd` succeeds if a turn completed."""
    if stop.reason == "max_cost":
        return 0 if any(turn.status == "completed" for turn in turns) else 1
    match run_ended.status:
        case "stopped" | "interrupted":
            return 130
        case "failed":
            return 1
        case "completed":
            return 0
