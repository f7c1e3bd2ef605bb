"""Who is asked for a model: the model itself and the fallbacks of the settings, with the tenant's own keys first."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from moot.model.errors import UsageError
from moot.providers.keys import Key, KeyRing
from moot.providers.registry import Registry, Resolved

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
