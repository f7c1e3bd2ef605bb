import asyncio
import io
import os
from collections.abc import Iterator
from typing import TextIO

import pytest

from moot.cli.tools import TerminalApprovalPolicy, open_tool_session
from moot.engine.tools.toolset import ToolCallRequest
from moot.tools.config import ServerConfig
from moot.types.errors import UsageError
from moot.types.events import TurnKey

TOOL_CALL_REQUEST = ToolCallRequest(
    call_id="call_1", tool="notes/write", arguments='{"a": "\x1b[2J"}', turn_key=TurnKey("alpha")
)
NAMES = {"alpha": "Ada"}


@pytest.fixture
def terminal() -> Iterator[tuple[int, TextIO, TextIO]]:
    """A terminal: the descriptor of the user, and the streams for input and output."""
    person, ours = os.openpty()
    with os.fdopen(ours, "r") as typed, os.fdopen(os.dup(ours), "w") as shown:
        yield person, typed, shown
    os.close(person)


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("y", "allow"),
        ("Yes", "allow"),
        ("a", "always"),
        ("n", "refuse"),
        ("", "refuse"),
        ("perhaps\nperhaps", "refuse"),
        ("perhaps\nyes", "allow"),
    ],
)
async def test_terminal_approval_policy_reads_decision(
    terminal: tuple[int, TextIO, TextIO], line: str, answer: str
) -> None:
    person, typed, shown = terminal
    asking = TerminalApprovalPolicy(typed, shown, NAMES)
    os.write(person, f"{line}\n".encode())
    async with asyncio.timeout(60):
        assert await asking.wait_for_decision(TOOL_CALL_REQUEST) == answer
    assert await asking.approval_state(TOOL_CALL_REQUEST) == ("given" if answer == "always" else "wanted")
    output = b""
    while b"or always:" not in output:  # the terminal echoes the input first
        output += os.read(person, 10_000)
    assert b"Ada wants to call notes/write" in output
    assert b"\x1b" not in output


async def test_wait_for_decision_can_be_cancelled(terminal: tuple[int, TextIO, TextIO]) -> None:
    _, typed, shown = terminal
    waiting = asyncio.create_task(TerminalApprovalPolicy(typed, shown, NAMES).wait_for_decision(TOOL_CALL_REQUEST))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_wait_for_decision_returns_none_without_terminal() -> None:
    shown = io.StringIO()
    assert await TerminalApprovalPolicy(io.StringIO("y\n"), shown, NAMES).wait_for_decision(TOOL_CALL_REQUEST) is None
    assert "it needs approval and there is no terminal" in shown.getvalue()


@pytest.mark.parametrize(
    ("tools", "words"),
    [
        (("files",), r"the settings have no \[tools.files\]. Choose one of notes."),
        (("moot",), "stores nothing"),
    ],
)
async def test_open_tool_session_rejects_unknown_servers(tools: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        async with open_tool_session(tools, {"notes": ServerConfig(command=("x",))}, {}, NAMES):
            pass


async def test_open_tool_session_returns_none_without_tools() -> None:
    async with open_tool_session((), {}, {}, NAMES) as none:
        assert none is None
