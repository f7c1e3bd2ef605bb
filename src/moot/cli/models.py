"""`moot models`: every model that can be asked right now, one a line."""

import asyncio
import os
import sys
from pathlib import Path

from moot import settings
from moot.app import event_loop
from moot.providers.registry import Registry
from moot.terminal.readers import safe
from moot.types.errors import MissingKey, MootError, UnknownModel

SECONDS = 10.0


def run(provider: str, config: Path | None) -> int:
    return event_loop.run(_run(provider, config))


async def _run(provider: str, config: Path | None) -> int:
    async with Registry(settings.load(config, os.environ).providers, os.environ) as registry:
        if provider and provider not in registry:
            raise UnknownModel(f"There is no provider {provider!r}. Providers are: {', '.join(registry)}.")
        if provider and (missing := registry.lacks_key(provider)):
            raise MissingKey(missing)
        names = [provider] if provider else [name for name in registry if not registry.lacks_key(name)]
        lists = await asyncio.gather(*(_models(registry, name, wanted=bool(provider)) for name in names))
    found = [f"{name}/{model}" for name, models in zip(names, lists, strict=True) for model in models]
    sys.stdout.write("".join(f"{safe(name)}\n" for name in found))
    if not found:
        sys.stderr.write("moot: no model can be asked now; `moot doctor` says what to do.\n")
    return 0 if found else 1


async def _models(registry: Registry, name: str, *, wanted: bool) -> list[str]:
    """List a provider's models; one that was not asked for by name, has no key and is silent is left out."""
    try:
        return sorted(await registry.models(name, SECONDS))
    except MootError as error:
        if wanted or registry.keys(name):
            sys.stderr.write(f"moot: {error}\n")
        return []
