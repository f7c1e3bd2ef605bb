"""`moot lab`: the failure lab on a port, for trying any client against everything that can go wrong."""

import asyncio
import sys
from pathlib import Path

from moot.app import event_loop
from moot.providers.scripted import scripts
from moot.providers.scripted.scripts import FAULTS, Script, Scripts
from moot.testing.provider_server import Lab, serving
from moot.types.errors import UsageError

SETTINGS = """Put this into moot.toml and ask lab/echo, lab/slow, lab/reset, …:

[providers.lab]
api = "openai"            # or anthropic with base_url {url}/v1, or google with {url}/v1beta
base_url = "{url}/v1"

Ctrl-C ends it.
"""


def run(port: int, script: Path | None) -> int:
    return event_loop.run(_serve(port, Scripts(_load(script))))


def show(script: Path | None) -> int:
    for name, written in _load(script).items():
        sys.stdout.write(f"{name:<16} {FAULTS.get(written.fault, 'answers as written')}\n")
    return 0


def _load(script: Path | None) -> dict[str, Script]:
    return scripts.load(script) if script else scripts.BUILT_IN


async def _serve(port: int, at_hand: Scripts) -> int:
    try:
        async with serving(Lab(at_hand), port) as url:
            sys.stdout.write(f"The failure lab serves {len(at_hand.named)} scripts at {url}\n\n")
            sys.stdout.write(SETTINGS.format(url=url))
            sys.stdout.flush()
            await asyncio.Event().wait()
    except OSError as error:
        raise UsageError(
            f"Port {port} cannot be used, it may be taken. Choose another with --port."
        ) from error
    return 0
