"""`moot doctor`: what works, what lacks a key, and what to do, in plain words."""

import asyncio
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal

from msgspec import Struct

from moot import settings
from moot.app import event_loop
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry
from moot.terminal.readers import safe
from moot.types.errors import MissingKey, ProviderError, Unavailable, UsageError

SECONDS = 10.0
MARKS = {"works": "✓", "idle": "·", "broken": "✗"}


class Finding(Struct, frozen=True):
    provider: str
    state: Literal["works", "idle", "broken"]
    words: str


def run(config: Path | None) -> int:
    return event_loop.run(_run(config))


async def _run(config: Path | None) -> int:
    chosen = settings.load(config, os.environ)
    async with Registry(chosen.providers, os.environ) as registry:
        findings = await asyncio.gather(*(examine(registry, name) for name in registry))
        findings += _unknown_fallbacks(registry, chosen.fallback)
    for finding in findings:
        sys.stdout.write(f"{MARKS[finding.state]} {finding.provider:<11} {safe(finding.words)}\n")
    sys.stdout.write(f"\n{_advice(findings, registry.embedded_model())}\n")
    return 1 if any(finding.state == "broken" for finding in findings) else 0


async def examine(registry: Registry, name: str) -> Finding:
    """Ask a provider for its models: the cheapest question that shows whether it would answer."""
    if broken := registry.broken_key(name):
        return Finding(name, "broken", broken)
    try:
        found = await registry.models(name, SECONDS)
    except (MissingKey, Unavailable) as error:
        return Finding(name, "idle", str(error))
    except UsageError as error:
        return Finding(name, "broken", str(error))
    except ProviderError as error:
        if registry.on_this_machine(name) and error.fault.kind != "timeout":
            return Finding(name, "idle", f"Not running at {registry.base_url(name)}.")
        return Finding(name, "broken", str(error))
    return Finding(name, "works", _works(registry, name, found))


def _unknown_fallbacks(registry: Registry, fallback: Mapping[str, Sequence[str]]) -> Iterator[Finding]:
    for model in dict.fromkeys(chain.from_iterable((name, *others) for name, others in fallback.items())):
        try:
            registry.resolve(model)
        except (MissingKey, Unavailable):
            pass
        except UsageError as error:
            yield Finding("[fallback]", "broken", str(error))


def _works(registry: Registry, name: str, models: list[str]) -> str:
    if name == "local":
        return f"Works, runs in this process: {DEMO_NOTE if registry.demo_model() else models[0]}."
    if name == "scripted":
        return f"Works: {len(models)} scripts for demonstrations and tests, no real model."
    some = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
    return f"Works: {len(models)} models ({some})." if models else "Works, but has no model yet."


def _advice(findings: list[Finding], embedded_model: str) -> str:
    ready = [f.provider for f in findings if f.state == "works" and f.provider not in {"local", "scripted"}]
    if ready:
        return f'Try: moot ask "Say hello" -m {ready[0]}/MODEL   (`moot models {ready[0]}` lists them)'
    mend = "mend what is marked ✗, " if any(f.state == "broken" for f in findings) else ""
    real = f"For a real model, {mend}set one of the keys above or start Ollama, LM Studio, llama.cpp or vLLM."
    embedded = any(f.provider == "local" and f.state == "works" for f in findings)
    return f'{real}\nWithout any: moot ask "Say hello" -m {embedded_model}' if embedded else real
