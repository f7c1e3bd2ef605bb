"""`moot chat` as a process: piped, on a terminal, with a server, and with a server that stops."""

import asyncio
import fcntl
import os
import pty
import random
import re
import select
import signal
import socket
import struct
import subprocess
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
import pytest_asyncio

from moot.cli.chat.session import ChatSession
from moot.types.errors import ServerUnreachable
from tests.support.databases import write_migrated_database
from tests.support.moot_process import TIMEOUT_SECONDS, MootCli, MootProcess, read_until, usage_error_text
from tests.support.moot_server import POLL_SECONDS, MootServer
from tests.test_tools import ToolSetup, run_tool_setup

WITH_SHARED_SERVER = pytest.mark.asyncio(loop_scope="module")  # the loop of the fixture `tool_server`

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
STEADY_ANSWER = "A table has no head when it is round."
TWO_MODELS = ("-m", "scripted/echo", "-m", "scripted/steady")
PROMPT = "you>"
CTRL_C = b"\x03"


@pytest.fixture
def moot_with_database(tmp_path: Path) -> MootCli:
    moot = MootCli(tmp_path)
    moot.environment["XDG_DATA_HOME"] = str(tmp_path / "data")
    write_migrated_database(tmp_path / "data" / "moot")
    return moot


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def tool_server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[ToolSetup]:
    """One server with tools, for all tests that need a server."""
    async with run_tool_setup("sqlite", tmp_path_factory.mktemp("chat")) as setup:
        yield setup


def join_lines(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


class FakeTerminal:
    """A terminal of 100 by 30: it types keys, and stores all output."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._output = ""
        self._read_position = 0

    def type_keys(self, keys: bytes) -> None:
        os.write(self._descriptor, keys)

    def wait_for_text(self, text: str) -> str:
        """Wait until the text appears in new output, and return the output up to it."""
        while (found := self._output.find(text, self._read_position)) < 0:
            ready, _, _ = select.select([self._descriptor], [], [], TIMEOUT_SECONDS)
            assert ready, f"{text!r} did not come, only {self._output[self._read_position :]!r}"
            self._output += ESCAPES.sub("", os.read(self._descriptor, 65536).decode(errors="replace"))
        start, self._read_position = self._read_position, found + len(text)
        return self._output[start : self._read_position]


@contextmanager
def run_chat_on_terminal(
    moot: MootCli, *arguments: str, columns: int = 100
) -> Iterator[tuple[FakeTerminal, MootProcess]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    with moot.start_process(
        "chat",
        *arguments,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        at_terminal=True,
        TERM="xterm-256color",
        PROMPT_TOOLKIT_NO_CPR="1",
    ) as process:
        os.close(theirs)
        try:
            yield FakeTerminal(ours), process
        finally:
            process.kill()
            os.close(ours)


def test_chat_runs_piped_lines_as_conversation(moot_with_database: MootCli) -> None:
    typed = join_lines("What is a moot?", "@beta And you?", "/who", "/history", "/shout", "/quit", "never said")
    done = moot_with_database("chat", *TWO_MODELS, stdin=typed)
    assert done.returncode == 0, done
    assert done.stdout.startswith("=== Alpha · scripted/echo ===\nWhat is a moot?\n\n=== Beta · scripted/steady ===\n")
    assert "Alpha (scripted/echo), Beta (scripted/steady): parallel\n" in done.stdout
    assert "=== You to beta ===\nAnd you?\n\n=== Beta" in done.stdout
    assert "never said" not in done.stdout
    assert "moot: There is no /shout. Type /help for the commands.\n" in done.stderr
    again = moot_with_database("chat", "--last", stdin=join_lines("/list", "/drop beta", "/new", "Another?", "/list"))
    assert "=== You ===\nWhat is a moot?" in again.stdout
    assert "  1  " in again.stdout
    assert "  2  " in again.stdout
    assert "Another?\n" in again.stdout
    assert "moot: Alpha (scripted/echo): single.\n" in again.stderr


def test_chat_uses_default_model_from_settings(moot_with_database: MootCli) -> None:
    moot_with_database.environment["MOOT_MODEL"] = "scripted/echo"
    done = moot_with_database(
        "chat", stdin=join_lines("/add scripted/steady as Carla", "/mode consensus", "/who", "@carla x")
    )
    assert done.stdout == "Alpha (scripted/echo), Carla (scripted/steady): consensus\n"
    assert "@name: not possible in the first message" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--last", "-m", "scripted/echo"), "-m and --mode: only for a new discussion"),
        (("--mode", "debate", "-m", "scripted/echo"), "--mode debate: needs at least two models"),
        (("-m", "nobody/x"), "Unknown model 'nobody/x': a model is written provider/model."),
        (("--server", "nowhere"), "not a URL. Use one such as"),
        (("dis_x",), "There is no discussion 'dis_x'."),
    ],
)
@WITH_SHARED_SERVER
async def test_chat_rejects_invalid_arguments(tool_server: ToolSetup, arguments: tuple[str, ...], words: str) -> None:
    assert words in usage_error_text(await asyncio.to_thread(tool_server.server.moot, "chat", *arguments))


@pytest.mark.parametrize(
    ("typed", "code"), [(("Why?",), 1), (("Why?", "/add scripted/echo", "And now?"), 0), (("/who",), 0)]
)
@WITH_SHARED_SERVER
async def test_chat_exit_code_is_1_when_no_piped_message_was_answered(
    tool_server: ToolSetup, typed: tuple[str, ...], code: int
) -> None:
    arguments = ("chat", "-m", "scripted/forbidden")
    done = await asyncio.to_thread(tool_server.server.moot, *arguments, stdin=join_lines(*typed))
    assert done.returncode == code


def test_chat_fails_when_remote_server_is_unreachable(moot_with_database: MootCli) -> None:
    done = moot_with_database("chat", "--server", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "No server answers at http://127.0.0.1:1" in done.stderr


def test_chat_shows_columns_and_first_ctrl_c_stops_second_quits(
    moot_with_database: MootCli,
) -> None:
    with run_chat_on_terminal(moot_with_database, "-m", "scripted/steady", "-m", "scripted/silence") as (
        terminal,
        process,
    ):
        terminal.wait_for_text(PROMPT)
        terminal.type_keys(b"What is a moot?\r")
        terminal.wait_for_text("Discussion dis_")
        shown = terminal.wait_for_text("completed")
        assert any(
            "Alpha · scripted/steady" in line and "Beta · scripted/silence" in line for line in shown.splitlines()
        )
        terminal.type_keys(CTRL_C)
        stopped = terminal.wait_for_text(PROMPT)
        assert "Stopping. Press Ctrl-C again to quit." in stopped
        assert STEADY_ANSWER in stopped.replace("\r\n", " ")
        assert "Stopped." in stopped
        terminal.type_keys(b"/who\r")
        terminal.wait_for_text("parallel")
        terminal.wait_for_text(PROMPT)
        terminal.type_keys(CTRL_C)
        terminal.wait_for_text("Press Ctrl-C again to quit.")
        terminal.wait_for_text(PROMPT)
        terminal.type_keys(CTRL_C)
        assert process.wait(TIMEOUT_SECONDS) == 130


@WITH_SHARED_SERVER
async def test_chat_stacks_answers_on_narrow_terminal_and_saves_input_history(
    tool_server: ToolSetup,
) -> None:
    with run_chat_on_terminal(tool_server.server.moot, *TWO_MODELS, columns=60) as (terminal, process):
        await asyncio.to_thread(terminal.wait_for_text, PROMPT)
        terminal.type_keys(b"What is a narrow moot?\r")
        await asyncio.to_thread(terminal.wait_for_text, "Discussion dis_")
        shown = await asyncio.to_thread(terminal.wait_for_text, PROMPT)
        assert not any("Alpha ·" in line and "Beta ·" in line for line in shown.splitlines())
        assert STEADY_ANSWER in shown.replace("\r\n", " ")
        terminal.type_keys(b"\x04")
        assert await asyncio.to_thread(process.wait, TIMEOUT_SECONDS) == 0
    history = tool_server.server.data / "chat_history"
    assert "What is a narrow moot?" in history.read_text("utf-8")
    assert history.stat().st_mode & 0o077 == 0


@WITH_SHARED_SERVER
async def test_second_ctrl_c_quits_when_stop_request_hangs(tool_server: ToolSetup) -> None:
    server = tool_server.server
    with run_chat_on_terminal(server.moot, "-m", "scripted/silence") as (terminal, process):
        await asyncio.to_thread(terminal.wait_for_text, PROMPT)
        terminal.type_keys(b"What is a moot?\r")
        await asyncio.to_thread(terminal.wait_for_text, "Discussion ")
        id = (await asyncio.to_thread(terminal.wait_for_text, ", also at ")).removesuffix(", also at ")
        async with asyncio.timeout(TIMEOUT_SECONDS):
            while id not in [one["discussion"] for one in (await server.get("/api/activity")).body]:
                await asyncio.sleep(POLL_SECONDS)
        server.pause()
        try:
            terminal.type_keys(CTRL_C)
            await asyncio.to_thread(terminal.wait_for_text, "Stopping. Press Ctrl-C again to quit.")
            terminal.type_keys(CTRL_C)
            assert await asyncio.to_thread(process.wait, TIMEOUT_SECONDS) == 130
        finally:
            server.resume()


@WITH_SHARED_SERVER
async def test_chat_continues_discussion_of_running_server(tool_server: ToolSetup) -> None:
    server = tool_server.server
    opened = (await server.post("/api/discussions", {"message": "Hm?", "participants": ["scripted/echo"]})).body
    await server.run_events(opened["run"]["id"])
    id = opened["discussion"]["id"]
    done = await asyncio.to_thread(server.moot, "chat", id, stdin=join_lines("And now?"))
    assert done.stdout.endswith("And now?\n")
    assert "=== You ===\nHm?\n\n=== Alpha · scripted/echo ===\nHm?\n" in done.stdout
    read = (await server.get(f"/api/discussions/{id}")).body
    assert [one["content"] for one in read["messages"] if one["role"] == "user"] == ["Hm?", "And now?"]


@WITH_SHARED_SERVER
async def test_chat_prompts_for_tool_approval_on_terminal(tool_server: ToolSetup) -> None:
    opened = await tool_server.open_discussion("writer")
    with run_chat_on_terminal(tool_server.server.moot, opened["discussion"]["id"]) as (terminal, process):
        await asyncio.to_thread(
            terminal.wait_for_text, 'moot: Alpha wants to call notes/write_down with {"text": "one"}'
        )
        await asyncio.to_thread(terminal.wait_for_text, "or always: ")
        terminal.type_keys(b"yes\r")
        await asyncio.to_thread(terminal.wait_for_text, "Done: ")
        await asyncio.to_thread(terminal.wait_for_text, PROMPT)
        terminal.type_keys(b"\x04")
        assert await asyncio.to_thread(process.wait, TIMEOUT_SECONDS) == 0
    assert tool_server.notes == ["one"]


@WITH_SHARED_SERVER
async def test_chat_prints_approval_url_when_input_is_piped(tool_server: ToolSetup) -> None:
    opened = await tool_server.open_discussion("writer")
    run, id = opened["run"]["id"], opened["discussion"]["id"]
    with tool_server.server.moot.start_process("chat", id, stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        words = f"waits for approval. Answer at {tool_server.server.url}/d/{id}."
        await asyncio.to_thread(read_until, process.stderr.fileno(), words)
        call = (await tool_server.wait_for_event(run, "approval_requested"))["call_id"]
        assert await tool_server.answer_approval(run, call, "refuse") == 204
        out, _ = await asyncio.to_thread(process.communicate, b"", TIMEOUT_SECONDS)
    assert b"Done: The person refused" in out


@WITH_SHARED_SERVER
async def test_chat_follows_live_run_until_it_is_stopped(tool_server: ToolSetup) -> None:
    server = tool_server.server
    opened = await _start_silent_run(server)
    with server.moot.start_process("chat", opened["discussion"]["id"], stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        await asyncio.to_thread(read_until, process.stderr.fileno(), "single.")
        await server.post(f"/api/runs/{opened['run']['id']}/stop")
        out, err = await asyncio.to_thread(process.communicate, b"/stop\n", TIMEOUT_SECONDS)
    assert process.returncode == 0, (out, err)
    assert b"moot: Stopped.\n" in err
    assert b"moot: No run is active.\n" in err


async def test_chat_reconnects_after_server_restart(tmp_path: Path) -> None:
    script = '[slow]\nanswer = "One two three four."\nchunk_chars = 4\nchunk_interval_seconds = {}\n'
    (tmp_path / "talk.toml").write_text(script.format(600), "utf-8")
    server = MootServer(tmp_path, settings='[providers.scripted]\nscript = "talk.toml"\n')
    server.arguments[server.arguments.index("--port") + 1] = str(_find_stable_free_port())
    try:
        await server.start()
        arguments = ("chat", "--server", server.url, "-m", "scripted/slow")
        with server.moot.start_process(*arguments, stdin=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            _write_and_close_stdin(process, b"What is a moot?\n")
            await asyncio.to_thread(read_until, process.stdout.fileno(), "One")
            server.kill()
            await asyncio.to_thread(read_until, process.stderr.fileno(), "Retrying.")
            (tmp_path / "talk.toml").write_text(script.format(0), "utf-8")
            await server.start()
            _, err = await asyncio.to_thread(process.communicate, None, TIMEOUT_SECONDS)
        assert process.returncode == 0, err
        assert b"The server is back." in err
        assert len((await server.get("/api/discussions")).body["discussions"]) == 1
    finally:
        await server.close()


def _find_stable_free_port() -> int:
    """Find a port for a server that restarts: below the range that the system assigns."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no free port")


def _write_and_close_stdin(process: MootProcess, data: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.close()
    process.stdin = None


async def _start_silent_run(server: MootServer) -> Any:
    """Open a discussion whose participant never answers."""
    opened = (await server.post("/api/discussions", {"message": "Hm?", "participants": ["scripted/silence"]})).body
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while (await server.get(f"/api/runs/{opened['run']['id']}")).body["status"] != "running":
            await asyncio.sleep(POLL_SECONDS)
    return opened


async def test_wait_for_stop_reports_unreachable_server() -> None:
    async def fail_to_stop() -> None:
        raise ServerUnreachable("Nobody answers.")

    notices: list[str] = []
    chat = ChatSession(MagicMock(), MagicMock(), MagicMock(side_effect=notices.append))
    await chat._wait_for_stop(asyncio.create_task(fail_to_stop()))
    assert notices == ["The stop request failed: Nobody answers."]


async def test_second_interrupt_cancels_pending_stop_request() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait_forever(*_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    chat = ChatSession(MagicMock(post=wait_forever), MagicMock(), MagicMock())
    chat._active_run = MagicMock(id="run_1")
    doing = asyncio.create_task(chat._run_interruptible(asyncio.Event().wait()))  # type: ignore[arg-type]
    async with asyncio.timeout(TIMEOUT_SECONDS):
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)
        await begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        await doing
    assert ended.is_set()
    assert chat._exit_code == 130
