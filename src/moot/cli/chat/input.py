"""Input lines of `moot chat`, typed or piped, and plain-text formatting of messages and lists."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Protocol

from moot.cli.ask_options import repair_encoding
from moot.cli.interrupt import on_ctrl_c
from moot.terminal.readers import strip_control_chars
from moot.types.discussions import Discussion, Message

INPUT_PROMPT = "you> "
CHUNK_BYTES = 65536


class LineSource(Protocol):
    async def next_line(self) -> str | None:
        """Return the next line, or None at the end of input. Ctrl-C raises `KeyboardInterrupt`."""


class TypedLines:
    def __init__(self, history_path: Path) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory

        history_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        history_path.touch(mode=0o600)
        self._session: PromptSession[str] = PromptSession(history=FileHistory(history_path))

    async def next_line(self) -> str | None:
        try:
            return await self._session.prompt_async(INPUT_PROMPT, handle_sigint=False)
        except EOFError:
            return None


class PipedLines:
    """Reads lines from a pipe, one chunk ahead at most, in a daemon thread.

    A blocking read cannot be cancelled; a daemon thread does not delay the exit.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._buffer = b""
        self._at_eof = False
        self._is_reading = False

    async def next_line(self) -> str | None:
        while b"\n" not in self._buffer and not self._at_eof:
            if not (piece := await self._next_chunk()):
                self._at_eof = True
            self._buffer += piece
        if not self._buffer:
            return None
        line, _, self._buffer = self._buffer.partition(b"\n")
        return repair_encoding(os.fsdecode(line))

    async def _next_chunk(self) -> bytes:
        if not self._is_reading:  # after Ctrl-C the thread of the previous call still reads
            self._is_reading = True
            Thread(target=self._read_in_thread, daemon=True).start()
        chunk = asyncio.create_task(self._chunks.get())
        with on_ctrl_c(chunk.cancel):
            await asyncio.wait({chunk})
        if chunk.cancelled():
            raise KeyboardInterrupt
        self._is_reading = False
        return chunk.result()

    def _read_in_thread(self) -> None:
        try:
            piece = os.read(self._descriptor, CHUNK_BYTES)
        except OSError:  # the descriptor is closed: end of input
            piece = b""
        with suppress(RuntimeError):  # the event loop is already closed
            self._loop.call_soon_threadsafe(self._chunks.put_nowait, piece)


def format_history(messages: Sequence[Message]) -> str:
    return strip_control_chars("".join(f"{line}\n" for message in messages for line in _format_message(message)))


def format_discussion_list(discussions: Sequence[Discussion]) -> str:
    """Number the discussions from 1, for `/resume`."""
    lines = (
        f"{number:>3}  {datetime.fromtimestamp(one.updated_at):%Y-%m-%d %H:%M}  {one.title}  ({one.mode}, {one.id})"  # noqa: DTZ006 - local time
        for number, one in enumerate(discussions, start=1)
    )
    return strip_control_chars("".join(f"{line}\n" for line in lines))


def _format_message(message: Message) -> Iterator[str]:
    if message.role == "user":
        to = f" to {', '.join(message.visible_to)}" if message.visible_to else ""
        yield f"=== You{to} ==="
    else:
        who = (message.name or message.participant or message.role, message.model)
        yield f"=== {' · '.join(part for part in who if part)} ==="
    for part in (message.content, message.details):
        if part.strip():
            yield part.rstrip()
    if message.status != "completed":
        yield f"[{message.status}{f': {message.fault.message}' if message.fault else ''}]"
    yield ""
