"""`moot lab`: fake provider server with scripted models and faults, for testing clients."""

import asyncio
import sys
from pathlib import Path

from moot.app import event_loop
from moot.providers.scripted.scripts import SCRIPT_FAULTS, Scripts, load_scripts
from moot.testing.provider_server import FakeProviderServer, serve_provider
from moot.types.errors import UsageError

SETTINGS_HINT = """Put this into moot.toml and ask lab/echo, lab/slow, lab/reset, …:

[providers.lab]
api = "openai"            # or anthropic with base_url {url}/v1, or google with {url}/v1beta
base_url = "{url}/v1"

Ctrl-C stops.
"""


def run_lab_server(port: int, script: Path | None) -> int:
    return event_loop.run_coroutine(_serve_scripts(port, Scripts(load_scripts(script))))


def list_scripts(script: Path | None) -> int:
    for name, written in load_scripts(script).items():
        sys.stdout.write(f"{name:<16} {SCRIPT_FAULTS.get(written.fault, 'answers as written')}\n")
    return 0


async def _serve_scripts(port: int, script_catalog: Scripts) -> int:
    try:
        async with serve_provider(FakeProviderServer(script_catalog), port) as url:
            sys.stdout.write(f"The failure lab serves {len(script_catalog.by_name)} scripts at {url}\n\n")
            sys.stdout.write(SETTINGS_HINT.format(url=url))
            sys.stdout.flush()
            await asyncio.Event().wait()
    except OSError as error:
        raise UsageError(f"--port {port}: cannot listen; it may be in use. Choose another port.") from error
    return 0
