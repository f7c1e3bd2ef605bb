"""`moot models` and `moot doctor`: list the models of the providers, and check each provider."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from msgspec import Struct

from moot import settings
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry
from moot.terminal.readers import strip_control_chars
from moot.types.errors import FeatureUnavailable, MissingKey, MootError, ProviderError, UnknownModel, UsageError

LIST_MODELS_SECONDS = 10.0
STATE_SYMBOLS = {"works": "✓", "idle": "·", "broken": "✗"}


class ProviderCheck(Struct, frozen=True):
    provider: str
    state: Literal["works", "idle", "broken"]
    message: str


async def run_models(provider: str, config: Path | None) -> int:
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


async def run_doctor(config: Path | None) -> int:
    chosen = settings.load_settings(config, os.environ)
    async with Registry(chosen.providers, os.environ) as registry:
        checks = await asyncio.gather(*(check_provider(registry, name) for name in registry))
        checks += _check_fallbacks(registry, chosen.fallback)
    for check in checks:
        sys.stdout.write(f"{STATE_SYMBOLS[check.state]} {check.provider:<11} {strip_control_chars(check.message)}\n")
    sys.stdout.write(f"\n{_suggest_next_step(checks, registry.embedded_model())}\n")
    return 1 if any(check.state == "broken" for check in checks) else 0


async def check_provider(registry: Registry, name: str) -> ProviderCheck:
    """List the provider's models: the cheapest request that checks key and connection."""
    if broken := registry.invalid_key_message(name):
        return ProviderCheck(name, "broken", broken)
    try:
        found = await registry.list_models(name, LIST_MODELS_SECONDS)
    except (MissingKey, FeatureUnavailable) as error:
        return ProviderCheck(name, "idle", str(error))
    except UsageError as error:
        return ProviderCheck(name, "broken", str(error))
    except ProviderError as error:
        if registry.is_local_server(name) and error.fault.kind != "timeout":
            return ProviderCheck(name, "idle", f"Not running at {registry.provider_base_url(name)}.")
        return ProviderCheck(name, "broken", str(error))
    return ProviderCheck(name, "works", _describe_working_provider(registry, name, found))


def _check_fallbacks(registry: Registry, fallback: Mapping[str, Sequence[str]]) -> Iterator[ProviderCheck]:
    for model in dict.fromkeys(chain.from_iterable((name, *others) for name, others in fallback.items())):
        try:
            registry.unavailable_reason(model)
        except UsageError as error:
            yield ProviderCheck("[fallback]", "broken", str(error))


def _describe_working_provider(registry: Registry, name: str, models: list[str]) -> str:
    if name == "local":
        return f"Works, runs in this process: {DEMO_NOTE if registry.demo_model() else models[0]}."
    if name == "scripted":
        return f"Works: {len(models)} scripts for demonstrations and tests, no real model."
    some = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
    return f"Works: {len(models)} models ({some})." if models else "Works, but has no model yet."


def _suggest_next_step(checks: list[ProviderCheck], embedded_model: str) -> str:
    ready = [f.provider for f in checks if f.state == "works" and f.provider not in {"local", "scripted"}]
    if ready:
        return f'Try: moot ask "Say hello" -m {ready[0]}/MODEL   (`moot models {ready[0]}` lists them)'
    fix = "fix what is marked ✗, " if any(f.state == "broken" for f in checks) else ""
    advice = f"For a real model, {fix}set one of the keys above or start Ollama, LM Studio, llama.cpp or vLLM."
    embedded = any(f.provider == "local" and f.state == "works" for f in checks)
    return f'{advice}\nWithout any: moot ask "Say hello" -m {embedded_model}' if embedded else advice
