"""Resolves a model name to providers, fallbacks and keys; picks default participants."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Protocol

from moot.providers.discovery import local_servers
from moot.providers.keys import Key, KeyRing
from moot.providers.registry import Registry, Resolved
from moot.types.errors import MissingKey, Unavailable, UsageError

Chains = Callable[[str, str], Awaitable[Sequence[Resolved]]]  # who is asked for a tenant's model


class StoredKeys(Protocol):
    async def secret(self, tenant: str, provider: str, origin: str) -> str | None: ...


class Casting:
    def __init__(self, registry: Registry, keys: StoredKeys, fallback: Mapping[str, tuple[str, ...]]) -> None:
        self._registry = registry
        self._keys = keys
        self._fallback = fallback

    async def models(self, tenant: str, model: str) -> Sequence[Resolved]:
        """Find a model and who may be asked instead; those that cannot be asked now are passed over."""
        found: list[Resolved] = []
        missing: UsageError | None = None
        for name in dict.fromkeys([model, *self._fallback.get(model, ())]):
            try:
                found.append(await self._resolve(tenant, name))
            except UsageError as error:
                missing = missing or error
        if not found and missing is not None:
            raise missing
        return found

    def once(self, model: str, secret: str) -> Resolved:
        """Find a model to be asked with a key that is not remembered; where no key is needed, none is taken."""
        provider, _, name = model.partition("/")
        if provider not in self._registry:
            return self._registry.resolve(model)
        if not self._registry.takes_key(provider):
            raise UsageError(f"{provider} takes no key: leave apiKey out.")
        asked = self._registry.provider(provider)
        asked.check(name)
        return Resolved(model, asked, name, KeyRing((Key("the key in the request", secret),)))

    async def _resolve(self, tenant: str, model: str) -> Resolved:
        provider = model.partition("/")[0]
        if provider not in self._registry:
            return self._registry.resolve(model)
        secret = await self._keys.secret(tenant, provider, self._registry.origin(provider))
        own = Key(f"the key you stored for {provider}", secret) if secret else None
        return self._registry.resolve(model, own)


SEATS = 3


class UsualTable:
    """The line-up of the settings; or else their model; or else the usual models of those providers that can be asked.

    Without any of them it is what runs on this machine.
    """

    def __init__(
        self, casting: Casting, registry: Registry, line_up: Sequence[str], model: str | None
    ) -> None:
        self._casting = casting
        self._registry = registry
        self._named = tuple(line_up) or ((model,) if model else ())

    async def models(self, tenant: str, *, alone: bool) -> tuple[str, ...]:
        """Name the models, or the one that sits there alone; where there is but one, it has several seats."""
        found = self._named or await self._found(tenant)
        if alone:
            return found[:1]
        return found if len(found) > 1 else tuple(islice(cycle(found), SEATS))

    async def _found(self, tenant: str) -> tuple[str, ...]:
        if usual := [model async for model in self._with_a_key(tenant)][:SEATS]:
            return tuple(usual)
        for server in await local_servers(self._registry):
            if server.models:
                return (f"{server.provider}/{server.models[0]}",)
        try:
            return (self._registry.resolve(self._registry.embedded_model()).name,)
        except Unavailable as error:
            raise UsageError(
                f"model: there is none to ask. Name some in line_up of the settings, or store a key. {error}"
            ) from error

    async def _with_a_key(self, tenant: str) -> AsyncIterator[str]:
        for name in self._registry:
            if cheap := self._registry.cheap_model(name):
                try:
                    yield (await self._casting.models(tenant, f"{name}/{cheap}"))[0].name
                except MissingKey:
                    continue
