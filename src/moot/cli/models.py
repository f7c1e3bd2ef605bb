"""`moot models`: lists the available models, one per line."""

import asyncio
import os
import sys
from pathlib import Path

from moot import settings
from moot.app import event_loop
from moot.providers.registry import Registry
from moot.terminal.readers import strip_control_chars
from moot.types.errors import MissingKey, MootError, UnknownModel

LIST_MODELS_SECONDS = 10.0


def run_models(provider: str, config: Path | None) -> int:
    return event_loop.run_coroutine(_run_models(provider, config))


async def _run_models(provider: str, config: Path | None) -> int:
    async with Registry(settings.load_settings(config, os.environ).providers, os.environ) as registry:
        if provider and provider not in registry:
            raise UnknownModel(f"There is no provider {provider!r}. Choose one of {', '.join(registry)}.")
        if provider and (missing := registry.missing_key_message(provider)):
            raise MissingKey(missing)
        names = [provider] if provider else [name for name in registry if not registry.missing_key_message(name)]
        lists = await asyncio.gather(
            *(_list_provider_models(registry, name, is_requested=bool(provider)) for name in names)
        )
    found = [f"{name}/{model}" for name, models in zip(names, lists, strict=True) for model in models]
    sys.stdout.write("".join(f"{strip_control_chars(name)}\n" for name in found))
    if not found:
        sys.stderr.write("moot: no model is available. Run `moot doctor`.\n")
    return 0 if found else 1


async def _list_provider_models(registry: Registry, name: str, *, is_requested: bool) -> list[str]:
    """List a provider's models. Errors are hidden for a provider without a key that was not requested."""
    try:
        return sorted(await registry.list_models(name, LIST_MODELS_SECONDS))
    except MootError as error:
        if is_requested or registry.server_keys(name):
            sys.stderr.write(f"moot: {error}\n")
        return []
