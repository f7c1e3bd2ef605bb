"""Servers of tools that are commands on this machine: only whoever runs Moot can name them."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence

from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client

KEPT = 2000  # bytes of what a command writes beside its answers
LAST_SECONDS = 1.0  # for the last of them to come


class LastWords(asyncio.Protocol):
    """The end of what a command writes beside its answers; all before it is for nobody, as it may hold what was said."""

    def __init__(self) -> None:
        self.over = asyncio.Event()
        self._kept = b""

    def data_received(self, data: bytes) -> None:
        self._kept = (self._kept + data)[-KEPT:]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - a Protocol
        self.over.set()

    @property
    def line(self) -> str:
        lines = [line.strip() for line in self._kept.decode("utf-8", "replace").splitlines()]
        last = next((line for line in reversed(lines) if line), "")
        return "".join(character for character in last if character.isprintable())


@contextlib.asynccontextmanager
async def command_running(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    """Run a command with little of our environment; it ends, or is killed, with this.

    Where that is because of an error, its last words are a note to it.
    """
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    reading, writing = os.pipe()
    loop, words = asyncio.get_running_loop(), LastWords()
    transport, _ = await loop.connect_read_pipe(lambda: words, os.fdopen(reading, "rb", 0))
    try:
        with os.fdopen(writing, "w") as errors:
            async with stdio_client(server, errlog=errors) as streams:
                yield streams
    except Exception as error:
        with contextlib.suppress(TimeoutError):  # what it started may hold the pipe open
            await asyncio.wait_for(words.over.wait(), LAST_SECONDS)
        if words.line:
            error.add_note(words.line)
        raise
    finally:
        transport.close()
