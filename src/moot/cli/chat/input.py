"""Input lines of `moot chat`, typed or piped, and the history of typed ones."""

import asyncio
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Thread
from typing import Protocol

from moot.cli.ask_options import typed
from moot.cli.interrupt import on_ctrl_c
from moot.terminal.readers import safe
from moot.types.discussions import Discussion, Message

PROMPT = "you> "
PIECE = 65536


class Lines(Protocol):
    async def next(self) -> str | None:
        """Return the next line; None is the end. Ctrl-C raises `KeyboardInterrupt`."""


class Typed:
    def __init__(self, history: Path) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.history import FileHistory

        history.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        history.touch(mode=0o600)
        self._session: PromptSession[str] = PromptSession(history=FileHistory(history))

    async def next(self) -> str | None:
        try:
            return await self._session.prompt_async(PROMPT, handle_sigint=False)
        except EOFError:
            return None


class Piped:
    """Reads ahead no further than one piece; a thread does it, for a pipe may be silent for long."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._came: asyncio.Queue[bytes] = asyncio.Queue()
        self._rest = b""
        self._over = False
        self._reading = False

    async def next(self) -> str | None:
        while b"\n" not in self._rest and not self._over:
            if not (piece := await self._piece()):
                self._over = True
            self._rest += piece
        if not self._rest:
            return None
        line, _, self._rest = self._rest.partition(b"\n")
        return typed(os.fsdecode(line))

    async def _piece(self) -> bytes:
        if not self._reading:  # else what was waited for when somebody pressed Ctrl-C still comes
            self._reading = True
            Thread(target=self._read, daemon=True).start()
        coming = asyncio.create_task(self._came.get())
        with on_ctrl_c(lambda: _cancel(coming)):
            await asyncio.wait({coming})
        if coming.cancelled():
            raise KeyboardInterrupt
        self._reading = False
        return coming.result()

    def _read(self) -> None:
        try:
            piece = os.read(self._descriptor, PIECE)
        except OSError:  # it is closed, or whoever held it is gone: nothing more comes
            piece = b""
        with suppress(RuntimeError):  # the loop is gone: nobody waits for this any more
            self._loop.call_soon_threadsafe(self._came.put_nowait, piece)


def _cancel(task: "asyncio.Task[bytes]") -> None:
    task.cancel()


def history(messages: Sequence[Message]) -> str:
    return safe("".join(f"{line}\n" for message in messages for line in _block(message)))


def listed(discussions: Sequence[Discussion]) -> str:
    """Number discussions, so that one can be named by its number."""
    lines = (
        f"{number:>3}  {datetime.fromtimestamp(one.updated_at):%Y-%m-%d %H:%M}  {one.title}  ({one.mode}, {one.id})"  # noqa: DTZ006 - as the clock on the wall says
        for number, one in enumerate(discussions, start=1)
    )
    return safe("".join(f"{line}\n" for line in lines))


def _block(message: Message) -> Iterator[str]:
    if message.role == "user":
        to = f" to {', '.join(message.audience)}" if message.audience else ""
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
