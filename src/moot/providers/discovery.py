"""Discovery of model servers on the local machine, by their default ports."""

import asyncio

from msgspec import Struct

from moot.providers.registry import Registry
from moot.types.errors import MootError

PROBE_TIMEOUT_SECONDS = 1.0


class LocalServer(Struct, frozen=True):
    provider: str
    base_url: str
    models: tuple[str, ...]


async def find_local_servers(registry: Registry) -> list[LocalServer]:
    """Query all known local servers concurrently. A server that fails or times out is left out."""
    names = [name for name in registry if registry.is_local_server(name)]
    found = await asyncio.gather(*(_probe_server(registry, name) for name in names))
    return [server for server in found if server is not None]


async def _probe_server(registry: Registry, name: str) -> LocalServer | None:
    try:
        models = await registry.list_models(name, PROBE_TIMEOUT_SECONDS)
    except MootError:
        return None
    return LocalServer(name, registry.provider_base_url(name), tuple(models))
