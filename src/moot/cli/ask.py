"""`moot ask`: build the run from options and settings, and pick the reader that fits where it is read."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from moot.channels.terminal import Json, Plain, Reader, Solo, usage_lines
from moot.cli import loop, settings
from moot.cli.settings import Settings
from moot.context.files import LARGEST, read_file
from moot.context.question import question
from moot.engine.inline import Lane, ask
from moot.engine.log import RunLog
from moot.engine.speaker import Speaker
from moot.model.errors import BadSettings, MissingKey, Unavailable, UsageError
from moot.model.events import Event, TurnEnded
from moot.model.participants import Participant, seat
from moot.model.profiles import file_kind
from moot.model.requests import Effort, File, ModelRequest
from moot.providers.discovery import local_servers
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry, Resolved
from moot.streams.stop import Stop

WAIT_SECONDS = 10.0


class Options(Struct, frozen=True, kw_only=True):
    question: str
    models: tuple[str, ...] = ()
    system: str = ""
    files: tuple[Path, ...] = ()
    temperature: float | None = None
    max_tokens: int | None = None
    thinking: Effort | None = None
    json: bool = False
    usage: bool = False
    config: Path | None = None


def run(options: Options) -> int:
    return loop.run(_run(options, _piped()))


async def _run(options: Options, piped: str) -> int:
    if not (options.question.strip() or piped.strip()):
        raise UsageError('There is no question: write moot ask "your question".')
    chosen = settings.load(options.config, os.environ)
    files = tuple(read_file(path) for path in options.files)
    async with Registry(chosen.providers, os.environ) as registry:
        lanes = await _lanes(options, chosen, registry)
        if files:
            lanes = [_able_to_read(lane, files) for lane in lanes]
        speaker = Speaker(chosen.limits)
        return await _ask(options, lanes, _request(options, piped, files), speaker)


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


def _typed(words: str) -> str:
    """Mend what was typed in another encoding than UTF-8."""
    return words.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _request(options: Options, piped: str, files: Sequence[File]) -> ModelRequest:
    words, context = (_typed(options.question), piped) if options.question.strip() else (piped, "")
    return ModelRequest(
        model="",
        messages=(question(words, context, files),),
        system=_typed(options.system),
        temperature=options.temperature,
        max_tokens=options.max_tokens,
        thinking=options.thinking,
    )


async def _lanes(options: Options, chosen: Settings, registry: Registry) -> list[Lane]:
    models = options.models or (await _default_model(chosen, registry),)
    lanes = [Lane(who, _chain(who.model, chosen, registry)) for who in seat(models)]
    demo = registry.demo_model()
    if demo in [model.name for lane in lanes for model in lane.chain]:
        sys.stderr.write(f"moot: {demo} is {DEMO_NOTE}.\n")
    return lanes


def _chain(name: str, chosen: Settings, registry: Registry) -> tuple[Resolved, ...]:
    """Find a model and who may be asked instead; those that cannot be asked here are passed over."""
    found: list[Resolved] = []
    missing: UsageError | None = None
    for model in dict.fromkeys([name, *chosen.fallback.get(name, ())]):
        try:
            found.append(registry.resolve(model))
        except (MissingKey, Unavailable) as error:
            missing = missing or error
        except UsageError as error:
            if model == name and name != chosen.model:
                raise
            where = "model" if model == name else f'the fallback of "{name}"'
            raise BadSettings(f"{error} It is {where} in the settings.") from error
    if not found and missing is not None:
        raise missing
    if missing is not None and found[0].name != name:
        sys.stderr.write(f"moot: {missing} {found[0].name} is asked instead.\n")
    return tuple(found)


async def _default_model(chosen: Settings, registry: Registry) -> str:
    """Take the model of the settings, else one there is a key for, else one that runs on this machine."""
    if chosen.model:
        return chosen.model
    for name in registry:
        if registry.keys(name) and (cheap := registry.cheap_model(name)):
            return _told(f"{name}/{cheap}", "because there is a key for it")
    for server in await local_servers(registry):
        if server.models:
            return _told(f"{server.provider}/{server.models[0]}", "found on this machine")
    try:
        why = "because nothing else is there" if registry.demo_model() else "the model file of your settings"
        return _told(registry.resolve(registry.embedded_model()).name, why)
    except Unavailable as error:
        raise MissingKey(
            f"There is no model to ask. Set ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or OPENROUTER_API_KEY, or start Ollama. {error}"
        ) from error


def _told(model: str, why: str) -> str:
    sys.stderr.write(f"moot: asking {model}, {why}. Choose with -m provider/model.\n")
    return model


def _able_to_read(lane: Lane, files: Sequence[File]) -> Lane:
    """Refuse a file that the model cannot read before anything is paid; leave out fallbacks that cannot."""
    for file in files:
        if not _takes(lane.chain[0], file):
            raise UsageError(
                f"{lane.participant.name} ({lane.chain[0].name}) takes no {file_kind(file.media_type)} files such "
                f"as {file.name}: leave the file out or choose another model."
            )
    return Lane(lane.participant, tuple(m for m in lane.chain if all(_takes(m, file) for file in files)))


def _takes(model: Resolved, file: File) -> bool:
    return file_kind(file.media_type) in model.provider.profile(model.model).files


async def _ask(options: Options, lanes: Sequence[Lane], request: ModelRequest, speaker: Speaker) -> int:
    participants = [lane.participant for lane in lanes]
    reader = _reader(options, participants)
    turns: list[TurnEnded] = []
    stop = Stop()

    unwritten: list[OSError] = []
    heard_at = asyncio.get_running_loop().time()

    def read(events: Sequence[Event]) -> None:
        nonlocal heard_at
        heard_at = asyncio.get_running_loop().time()
        turns.extend(event for event in events if isinstance(event, TurnEnded))
        try:
            reader(events)
        except OSError as error:  # whoever read our output has left, or the disk is full
            unwritten.append(error)
            stop.request()

    with _stopped_by_ctrl_c(stop), _without_echo_of_ctrl_c():
        patience = asyncio.create_task(_told_to_wait(lambda: heard_at)) if len(lanes) == 1 else None
        try:
            ended = await ask(lanes, request, RunLog(read), speaker, stop)
        finally:
            if patience is not None:
                patience.cancel()
            with suppress(OSError):
                reader.close()
    if unwritten:
        return _not_written(unwritten[0])
    if options.usage:
        sys.stderr.write("".join(f"moot: {line}\n" for line in usage_lines(participants, turns)))
    match ended.status:
        case "stopped" | "interrupted":
            return 130
        case "failed":
            return 1
        case "completed":
            return 0


def _not_written(error: OSError) -> int:
    if not isinstance(error, BrokenPipeError):
        sys.stderr.write(f"moot: Cannot write the answer: {error.strerror}.\n")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is still in the buffer has nowhere to go
    return 141 if isinstance(error, BrokenPipeError) else 1


def _reader(options: Options, participants: Sequence[Participant]) -> Reader:
    if options.json:
        return Json(sys.stdout)
    if len(participants) == 1:
        return Solo(sys.stdout, sys.stderr)
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        return Plain(sys.stdout, sys.stderr)
    from rich.console import Console

    from moot.channels.live import Live

    return Live(Console(highlight=False))


async def _told_to_wait(last_event: Callable[[], float]) -> None:
    """Say now and then that nothing came yet, to whoever watches a single answer."""
    loop_time = asyncio.get_running_loop().time
    while True:
        await asyncio.sleep(WAIT_SECONDS)
        if (silent := loop_time() - last_event()) >= WAIT_SECONDS:
            sys.stderr.write(f"moot: nothing came for {silent:.0f} s; Ctrl-C stops.\n")


@contextmanager
def _without_echo_of_ctrl_c() -> Iterator[None]:
    """Keep the terminal from printing ^C, which would shift what is drawn there."""
    try:
        import termios
    except ImportError:  # Windows
        yield
        return
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, TypeError, ValueError, OSError):  # no terminal
        yield
        return
    quiet = [*before[:3], before[3] & ~termios.ECHOCTL, *before[4:]]
    termios.tcsetattr(sys.stdin, termios.TCSADRAIN, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)


@contextmanager
def _stopped_by_ctrl_c(stop: Stop) -> Iterator[None]:
    """Let the first Ctrl-C stop the run and keep what came, and a second one end the process."""
    running = asyncio.get_running_loop()

    def stop_once() -> None:
        running.remove_signal_handler(signal.SIGINT)
        stop.request()

    try:
        running.add_signal_handler(signal.SIGINT, stop_once)
    except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt instead
        yield
        return
    try:
        yield
    finally:
        running.remove_signal_handler(signal.SIGINT)
