import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moot.cli.chat.input import PipedLines, format_discussion_list, format_history
from moot.types.discussions import Discussion, Message
from moot.types.faults import make_fault
from moot.types.participants import make_participants


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


async def test_piped_lines_are_returned_one_by_one_for_any_chunks(pipe: tuple[int, int]) -> None:
    read, write = pipe
    lines = PipedLines(read)
    os.write(write, b"one\ntwo\nth")
    assert [await lines.next_line(), await lines.next_line()] == ["one", "two"]
    coming = asyncio.create_task(lines.next_line())
    os.write(write, "rée\n\n".encode())
    assert [await coming, await lines.next_line()] == ["thrée", ""]
    os.write(write, b"last, without an end")
    os.close(write)
    assert [await lines.next_line(), await lines.next_line(), await lines.next_line()] == [
        "last, without an end",
        None,
        None,
    ]


async def test_piped_lines_replace_invalid_utf8(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, "Grüße\n".encode("latin-1"))
    os.close(write)
    assert await PipedLines(read).next_line() == "Gr\ufffd\ufffde"


async def test_ctrl_c_interrupts_next_line_without_losing_input(pipe: tuple[int, int]) -> None:
    read, write = pipe
    lines = PipedLines(read)
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        await lines.next_line()
    os.write(write, b"still here\n")
    os.close(write)
    assert await lines.next_line() == "still here"


async def test_piped_lines_return_none_when_descriptor_is_unreadable(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    async with asyncio.timeout(60):
        assert await PipedLines(folder).next_line() is None
    os.close(folder)


def make_message(**fields: Any) -> Message:
    return Message(
        **{
            "id": "m",
            "discussion": "d",
            "role": "assistant",
            "content": "Yes.",
            "name": "Alpha",
            "model": "a/one",
        }
        | fields
    )


def test_format_history_labels_messages_with_speaker() -> None:
    messages = [
        make_message(role="user", content="Why?", name=None, model=None, visible_to=("alpha",)),
        make_message(details="At length."),
        make_message(content="", status="failed", fault=make_fault("network", "The connection broke.")),
        make_message(content="Well", status="stopped"),
    ]
    assert format_history(messages) == (
        "=== You to alpha ===\nWhy?\n\n=== Alpha · a/one ===\nYes.\nAt length.\n\n"
        "=== Alpha · a/one ===\n[failed: The connection broke.]\n\n=== Alpha · a/one ===\nWell\n[stopped]\n\n"
    )


def test_format_history_strips_control_characters() -> None:
    assert "\x1b" not in format_history([make_message(content="\x1b[2J")])


def test_format_discussion_list_numbers_discussions() -> None:
    one = Discussion(
        id="dis_x",
        title="Wood\x07",
        status="active",
        mode="debate",
        participants=make_participants(("a/one",)),
        rounds=2,
        persona=None,
        project=None,
        language=None,
        model=None,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=0.0,
        updated_at=0.0,
    )
    first, second = format_discussion_list([one, one]).splitlines()
    assert first.startswith("  1  19")
    assert second.endswith("  Wood  (debate, dis_x)")
