import asyncio
import io
import os
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

from moot.cli.approvals import (
    ApprovalPrompts,
    Terminal,
    TerminalApprovalPolicy,
    interactive_terminal,
    open_tool_session,
)
from moot.engine.tools.toolset import ToolCallRequest
from moot.tools.config import ServerConfig
from moot.types.errors import UsageError
from moot.types.events import ApprovalRequested, ApprovalResolved, Event, RunStarted, ToolCalled, TurnKey
from moot.types.participants import Participant
from moot.types.tools import ApprovalDecision
from tests.support.run_events import turn_ended

RUN_STARTED = RunStarted(participants=(Participant("alpha", "Alpha", "scripted/writer"),))
CALL_FIELDS: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0, "call_id": "call_1"}
TOOL_CALLED = ToolCalled(name="notes/write", arguments="{}", **CALL_FIELDS)
APPROVAL_REQUESTED = ApprovalRequested(name="notes/write", timeout_seconds=600, **CALL_FIELDS)
APPROVAL_RESOLVED = ApprovalResolved(outcome="allow", **CALL_FIELDS)

TOOL_CALL_REQUEST = ToolCallRequest(
    call_id="call_1", tool="notes/write", arguments='{"a": "\x1b[2J"}', turn_key=TurnKey("alpha")
)
NAMES = {"alpha": "Ada"}


class TerminalUser:
    """A user at a terminal: types text, and reads the output."""

    def __init__(self, descriptor: int, terminal: Terminal) -> None:
        self._descriptor = descriptor
        self.terminal = terminal

    def type_text(self, text: str) -> None:
        os.write(self._descriptor, text.encode())

    async def wait_for_output(self, text: str) -> str:
        seen = ""
        async with asyncio.timeout(60):
            while text not in seen:
                seen += (await asyncio.to_thread(os.read, self._descriptor, 10_000)).decode()
        return seen


@pytest.fixture
def terminal_user() -> Iterator[TerminalUser]:
    theirs, ours = os.openpty()
    with os.fdopen(ours, "r") as typed, os.fdopen(os.dup(ours), "w") as shown:
        terminal = interactive_terminal(typed, shown)
        assert terminal is not None
        yield TerminalUser(theirs, terminal)
    os.close(theirs)


class DecisionRecorder:
    """Records decisions and notices."""

    def __init__(self) -> None:
        self.decisions: asyncio.Queue[tuple[str, ApprovalDecision]] = asyncio.Queue()
        self.notices: asyncio.Queue[str] = asyncio.Queue()

    async def submit_decision(self, call_id: str, decision: ApprovalDecision) -> None:
        await self.decisions.put((call_id, decision))

    def make_prompts(self, terminal: Terminal | None) -> ApprovalPrompts:
        return ApprovalPrompts(terminal, self.submit_decision, self.notices.put_nowait, "http://here/d/dis_1")


async def test_approval_prompts_ask_on_terminal_and_submit_decision(terminal_user: TerminalUser) -> None:
    recorder = DecisionRecorder()
    async with asyncio.timeout(60), recorder.make_prompts(terminal_user.terminal) as questions:
        questions.process_events([RUN_STARTED, TOOL_CALLED, APPROVAL_REQUESTED])
        assert "Alpha wants to call notes/write with {}" in await terminal_user.wait_for_output("or always: ")
        terminal_user.type_text("always\n")
        assert await recorder.decisions.get() == ("call_1", "always")


async def test_request_decision_repeats_prompt_after_invalid_answer(terminal_user: TerminalUser) -> None:
    async with asyncio.timeout(60):
        asking = asyncio.create_task(terminal_user.terminal.request_decision("Alpha", "notes/write", "{}"))
        await terminal_user.wait_for_output("or always: ")
        terminal_user.type_text("maybe\n")
        await terminal_user.wait_for_output("or always: ")
        terminal_user.type_text("yes\n")
        assert await asking == "allow"


async def test_approval_prompts_print_page_url_without_terminal() -> None:
    recorder = DecisionRecorder()
    async with asyncio.timeout(60), recorder.make_prompts(None) as questions:
        questions.process_events([RUN_STARTED, TOOL_CALLED, APPROVAL_REQUESTED])
        notice = await recorder.notices.get()
    assert notice == "Alpha wants to call notes/write and waits for approval. Answer at http://here/d/dis_1."


async def test_approval_prompts_skip_resolved_calls() -> None:
    recorder = DecisionRecorder()
    async with recorder.make_prompts(None) as questions:
        questions.process_events([RUN_STARTED, TOOL_CALLED, APPROVAL_REQUESTED, APPROVAL_RESOLVED])
        await asyncio.sleep(0)
    assert recorder.notices.empty()


@pytest.mark.parametrize("over", [APPROVAL_RESOLVED, turn_ended("alpha")])
async def test_approval_prompt_is_cancelled_when_call_is_resolved_or_turn_ends(
    terminal_user: TerminalUser, over: Event
) -> None:
    recorder = DecisionRecorder()
    async with asyncio.timeout(60), recorder.make_prompts(terminal_user.terminal) as questions:
        questions.process_events([RUN_STARTED, TOOL_CALLED, APPROVAL_REQUESTED])
        await terminal_user.wait_for_output("or always: ")
        questions.process_events([over])
        await terminal_user.wait_for_output("\n")
    assert recorder.decisions.empty()


async def test_approval_prompts_report_rejected_late_decision(terminal_user: TerminalUser) -> None:
    notices: asyncio.Queue[str] = asyncio.Queue()

    async def reject_decision(call_id: str, decision: ApprovalDecision) -> None:
        raise UsageError(f"{call_id} was answered: {decision}.")

    async with (
        asyncio.timeout(60),
        ApprovalPrompts(terminal_user.terminal, reject_decision, notices.put_nowait, "") as questions,
    ):
        questions.process_events([RUN_STARTED, TOOL_CALLED, APPROVAL_REQUESTED])
        await terminal_user.wait_for_output("or always: ")
        terminal_user.type_text("no\n")
        assert await notices.get() == "call_1 was answered: refuse."


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
