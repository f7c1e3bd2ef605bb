"""Model servers on this machine, looked for on their usual ports."""

import asyncio

from msgspec import Struct

from moot.providers.registry import Registry
from moot.types.errors import MootError

SECONDS = 1.0


class Found(Struct, frozen=True):
    provider: str
    base_url: str
    models: tuple[str, ...]


async def local_servers(registry: Registry) -> list[Found]:
    """Ask every known local server for its models at once; those that are silent are not there."""
    names = [name for name in registry if registry.on_this_machine(name)]
    found = await asyncio.gather(*(_ask(registry, name) for name in names))
    return [server for server in found if server is not None]


async def _ask(registry: Registry, name: str) -> Found | None:
    try:
        models = await registry.models(name, SECONDS)
    except MootError:
        return None
    return Found(name, registry.base_url(name), tuple(models))
