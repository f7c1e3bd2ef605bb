"""`moot chat` as a process: piped, on a terminal, beside a server, and with a server that goes away."""

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
from tests.cli.process import SECONDS, Moot, Running, complaint, heard
from tests.databases import write_migrated
from tests.serving import LOOK_SECONDS, MootServer
from tests.test_tools import Place, place

BESIDE_A_SERVER = pytest.mark.asyncio(loop_scope="module")  # the one of the fixture `here`

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
STEADY = "A table has no head when it is round."
TWO = ("-m", "scripted/echo", "-m", "scripted/steady")
PROMPT = "you>"
CTRL_C = b"\x03"


@pytest.fixture
def house(tmp_path: Path) -> Moot:
    moot = Moot(tmp_path)
    moot.environment["XDG_DATA_HOME"] = str(tmp_path / "data")
    write_migrated(tmp_path / "data" / "moot")
    return moot


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Place]:
    """A server with tools, the same for all tests that talk beside one."""
    async with place("sqlite", tmp_path_factory.mktemp("chat")) as here:
        yield here


def lines(*typed: str) -> str:
    return "".join(f"{line}\n" for line in typed)


class Terminal:
    """A screen of 100 by 30, somebody who types, and all that was ever shown."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._shown = ""
        self._seen = 0

    def type(self, words: bytes) -> None:
        os.write(self._descriptor, words)

    def until(self, words: str) -> str:
        """Wait until something is shown that was not seen before, and return all up to it."""
        while (found := self._shown.find(words, self._seen)) < 0:
            ready, _, _ = select.select([self._descriptor], [], [], SECONDS)
            assert ready, f"{words!r} did not come, only {self._shown[self._seen :]!r}"
            self._shown += ESCAPES.sub("", os.read(self._descriptor, 65536).decode(errors="replace"))
        start, self._seen = self._seen, found + len(words)
        return self._shown[start : self._seen]


@contextmanager
def on_a_terminal(moot: Moot, *arguments: str, columns: int = 100) -> Iterator[tuple[Terminal, Running]]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    with moot.running(
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
            yield Terminal(ours), process
        finally:
            process.kill()
            os.close(ours)


def test_what_is_piped_in_is_a_conversation(house: Moot) -> None:
    typed = lines("What is a moot?", "@beta And you?", "/who", "/history", "/shout", "/quit", "never said")
    done = house("chat", *TWO, stdin=typed)
    assert done.returncode == 0, done
    assert done.stdout.startswith(
        "=== Alpha · scripted/echo ===\nWhat is a moot?\n\n=== Beta · scripted/steady ===\n"
    )
    assert "Alpha (scripted/echo), Beta (scripted/steady): parallel\n" in done.stdout
    assert "=== You to beta ===\nAnd you?\n\n=== Beta" in done.stdout
    assert "never said" not in done.stdout
    assert "moot: There is no /shout: /help tells what there is.\n" in done.stderr
    again = house("chat", "--last", stdin=lines("/list", "/drop beta", "/new", "Another?", "/list"))
    assert "=== You ===\nWhat is a moot?" in again.stdout
    assert "  1  " in again.stdout
    assert "  2  " in again.stdout
    assert "Another?\n" in again.stdout
    assert "moot: Alpha (scripted/echo): single.\n" in again.stderr


def test_the_model_of_the_settings_sits_there_where_none_is_named(house: Moot) -> None:
    house.environment["MOOT_MODEL"] = "scripted/echo"
    done = house("chat", stdin=lines("/add scripted/steady as Carla", "/mode consensus", "/who", "@carla x"))
    assert done.stdout == "Alpha (scripted/echo), Carla (scripted/steady): consensus\n"
    assert "The first message of a discussion is for everybody" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--last", "-m", "scripted/echo"), "-m and --mode are for a new discussion"),
        (("--mode", "debate", "-m", "scripted/echo"), "A debate needs at least two models"),
        (("-m", "nobody/x"), "Unknown model 'nobody/x': a model is written provider/model."),
        (("--server", "nowhere"), "write an address such as"),
        (("dis_x",), "There is no discussion 'dis_x'."),
    ],
)
@BESIDE_A_SERVER
async def test_what_cannot_be_done_is_told(here: Place, arguments: tuple[str, ...], words: str) -> None:
    assert words in complaint(await asyncio.to_thread(here.server.moot, "chat", *arguments))


@pytest.mark.parametrize(
    ("typed", "code"), [(("Why?",), 1), (("Why?", "/add scripted/echo", "And now?"), 0), (("/who",), 0)]
)
@BESIDE_A_SERVER
async def test_the_exit_code_tells_whether_anything_piped_in_was_answered(
    here: Place, typed: tuple[str, ...], code: int
) -> None:
    arguments = ("chat", "-m", "scripted/forbidden")
    done = await asyncio.to_thread(here.server.moot, *arguments, stdin=lines(*typed))
    assert done.returncode == code


def test_a_server_of_others_has_no_model_of_ours(house: Moot) -> None:
    done = house("chat", "--server", "http://127.0.0.1:1")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Nobody answers at http://127.0.0.1:1" in done.stderr


def test_on_a_terminal_there_are_columns_and_ctrl_c_stops_and_then_leaves(house: Moot) -> None:
    with on_a_terminal(house, "-m", "scripted/steady", "-m", "scripted/silence") as (terminal, process):
        terminal.until(PROMPT)
        terminal.type(b"What is a moot?\r")
        terminal.until("This is dis_")
        shown = terminal.until("completed")
        assert any(
            "Alpha · scripted/steady" in line and "Beta · scripted/silence" in line
            for line in shown.splitlines()
        )
        terminal.type(CTRL_C)
        stopped = terminal.until(PROMPT)
        assert "Stopping; Ctrl-C once more leaves." in stopped
        assert STEADY in stopped.replace("\r\n", " ")
        assert "Stopped." in stopped
        terminal.type(b"/who\r")
        terminal.until("parallel")
        terminal.until(PROMPT)
        terminal.type(CTRL_C)
        terminal.until("Ctrl-C once more leaves.")
        terminal.until(PROMPT)
        terminal.type(CTRL_C)
        assert process.wait(SECONDS) == 130


@BESIDE_A_SERVER
async def test_a_narrow_terminal_has_one_below_the_other_and_remembers_what_was_typed(here: Place) -> None:
    with on_a_terminal(here.server.moot, *TWO, columns=60) as (terminal, process):
        await asyncio.to_thread(terminal.until, PROMPT)
        terminal.type(b"What is a narrow moot?\r")
        await asyncio.to_thread(terminal.until, "This is dis_")
        shown = await asyncio.to_thread(terminal.until, PROMPT)
        assert not any("Alpha ·" in line and "Beta ·" in line for line in shown.splitlines())
        assert STEADY in shown.replace("\r\n", " ")
        terminal.type(b"\x04")
        assert await asyncio.to_thread(process.wait, SECONDS) == 0
    kept = here.server.data / "chat_history"
    assert "What is a narrow moot?" in kept.read_text("utf-8")
    assert kept.stat().st_mode & 0o077 == 0


@BESIDE_A_SERVER
async def test_a_second_ctrl_c_leaves_even_if_the_first_stops_nothing(here: Place) -> None:
    server = here.server
    with on_a_terminal(server.moot, "-m", "scripted/silence") as (terminal, process):
        await asyncio.to_thread(terminal.until, PROMPT)
        terminal.type(b"What is a moot?\r")
        await asyncio.to_thread(terminal.until, "This is ")
        id = (await asyncio.to_thread(terminal.until, ", also at ")).removesuffix(", also at ")
        async with asyncio.timeout(SECONDS):
            while id not in [one["discussion"] for one in (await server.get("/api/activity")).body]:
                await asyncio.sleep(LOOK_SECONDS)
        server.pause()
        try:
            terminal.type(CTRL_C)
            await asyncio.to_thread(terminal.until, "Stopping; Ctrl-C once more leaves.")
            terminal.type(CTRL_C)
            assert await asyncio.to_thread(process.wait, SECONDS) == 130
        finally:
            server.go_on()


@BESIDE_A_SERVER
async def test_beside_a_server_it_is_one_discussion_with_the_page(here: Place) -> None:
    server = here.server
    opened = (
        await server.post("/api/discussions", {"message": "Hm?", "participants": ["scripted/echo"]})
    ).body
    await server.heard(opened["run"]["id"])
    id = opened["discussion"]["id"]
    done = await asyncio.to_thread(server.moot, "chat", id, stdin=lines("And now?"))
    assert done.stdout.endswith("And now?\n")
    assert "=== You ===\nHm?\n\n=== Alpha · scripted/echo ===\nHm?\n" in done.stdout
    read = (await server.get(f"/api/discussions/{id}")).body
    assert [one["content"] for one in read["messages"] if one["role"] == "user"] == ["Hm?", "And now?"]


@BESIDE_A_SERVER
async def test_at_a_terminal_somebody_is_asked_whether_a_call_may_be_made(here: Place) -> None:
    opened = await here.open("writer")
    with on_a_terminal(here.server.moot, opened["discussion"]["id"]) as (terminal, process):
        await asyncio.to_thread(
            terminal.until, 'moot: Alpha wants to call notes/write_down with {"text": "one"}'
        )
        await asyncio.to_thread(terminal.until, "or always: ")
        terminal.type(b"yes\r")
        await asyncio.to_thread(terminal.until, "Done: ")
        await asyncio.to_thread(terminal.until, PROMPT)
        terminal.type(b"\x04")
        assert await asyncio.to_thread(process.wait, SECONDS) == 0
    assert here.notes == ["one"]


@BESIDE_A_SERVER
async def test_where_nobody_sits_it_is_told_where_a_call_is_allowed(here: Place) -> None:
    opened = await here.open("writer")
    run, id = opened["run"]["id"], opened["discussion"]["id"]
    with here.server.moot.running("chat", id, stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        words = f"waits for consent: give it at {here.server.url}/d/{id}."
        await asyncio.to_thread(heard, process.stderr.fileno(), words)
        call = (await here.of_type(run, "approval_wanted"))["call_id"]
        assert await here.answer(run, call, "refuse") == 204
        out, _ = await asyncio.to_thread(process.communicate, b"", SECONDS)
    assert b"Done: The person refused" in out


@BESIDE_A_SERVER
async def test_a_run_that_goes_on_is_followed_and_stopped(here: Place) -> None:
    server = here.server
    opened = await _speaking(server)
    with server.moot.running("chat", opened["discussion"]["id"], stdin=subprocess.PIPE) as process:
        assert process.stderr is not None
        await asyncio.to_thread(heard, process.stderr.fileno(), "single.")
        await server.post(f"/api/runs/{opened['run']['id']}/stop")
        out, err = await asyncio.to_thread(process.communicate, b"/stop\n", SECONDS)
    assert process.returncode == 0, (out, err)
    assert b"moot: Stopped.\n" in err
    assert b"moot: Nobody is speaking.\n" in err


async def test_a_server_that_comes_back_is_gone_on_with(tmp_path: Path) -> None:
    talk = '[slow]\nanswer = "One two three four."\nchunk = 4\npace = {}\n'
    (tmp_path / "talk.toml").write_text(talk.format(600), "utf-8")
    server = MootServer(tmp_path, settings='[providers.scripted]\nscript = "talk.toml"\n')
    server.arguments[server.arguments.index("--port") + 1] = str(_port_that_nobody_is_given())
    try:
        await server.start()
        arguments = ("chat", "--server", server.url, "-m", "scripted/slow")
        with server.moot.running(*arguments, stdin=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            _type_and_close(process, b"What is a moot?\n")
            await asyncio.to_thread(heard, process.stdout.fileno(), "One")
            server.kill()
            await asyncio.to_thread(heard, process.stderr.fileno(), "trying again.")
            (tmp_path / "talk.toml").write_text(talk.format(0), "utf-8")
            await server.start()
            _, err = await asyncio.to_thread(process.communicate, None, SECONDS)
        assert process.returncode == 0, err
        assert b"The server is back." in err
        assert len((await server.get("/api/discussions")).body["discussions"]) == 1
    finally:
        await server.close()


def _port_that_nobody_is_given() -> int:
    """Find a port to which a server can come back: below those that the system gives away."""
    for port in random.sample(range(20_000, 30_000), 100):
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port
    raise AssertionError("there is no free port")


def _type_and_close(process: Running, words: bytes) -> None:
    assert process.stdin is not None
    process.stdin.write(words)
    process.stdin.close()
    process.stdin = None


async def _speaking(server: MootServer) -> Any:
    """Open a discussion in which somebody is asked and says nothing."""
    opened = (
        await server.post("/api/discussions", {"message": "Hm?", "participants": ["scripted/silence"]})
    ).body
    async with asyncio.timeout(SECONDS):
        while (await server.get(f"/api/runs/{opened['run']['id']}")).body["status"] != "running":
            await asyncio.sleep(LOOK_SECONDS)
    return opened


async def test_a_stop_that_was_not_heard_is_told() -> None:
    async def unheard() -> None:
        raise ServerUnreachable("Nobody answers.")

    said: list[str] = []
    chat = ChatSession(MagicMock(), MagicMock(), MagicMock(side_effect=said.append))
    await chat._wait_for_stop(asyncio.create_task(unheard()))
    assert said == ["The stop was not heard: Nobody answers."]


async def test_whoever_leaves_ends_the_stop_that_is_on_its_way() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def never(*_: object) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    chat = ChatSession(MagicMock(post=never), MagicMock(), MagicMock())
    chat._active_run = MagicMock(id="run_1")
    doing = asyncio.create_task(chat._run_interruptible(asyncio.Event().wait()))  # type: ignore[arg-type]
    async with asyncio.timeout(SECONDS):
        await asyncio.sleep(0)
        os.kill(os.getpid(), signal.SIGINT)
        await begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        await doing
    assert ended.is_set()
    assert chat._quit_requested
