"""Servers of tools that are commands on this machine: only whoever runs Moot can name them."""

import contextlib
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

from mcp.client._transport import TransportStreams
from mcp.client.stdio import StdioServerParameters, stdio_client


@contextlib.asynccontextmanager
async def command_running(
    command: Sequence[str], environment: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    """Run a command with little of our environment; it ends, or is killed, with this.

    What it writes beside its answers is for nobody: it may hold what was said.
    """
    program, *arguments = command
    server = StdioServerParameters(command=program, args=arguments, env=dict(environment))
    with Path(os.devnull).open("w") as errors:  # noqa: ASYNC230 - nothing is waited for
        async with stdio_client(server, errlog=errors) as streams:
            yield streams
