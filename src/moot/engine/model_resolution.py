"""Resolves a model name to providers, fallbacks and keys; picks default participants."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Protocol

from moot.providers.discovery import find_local_servers
from moot.providers.keys import Key, KeyRing
from moot.providers.registry import Registry, ResolvedModel
from moot.types.errors import FeatureUnavailable, MissingKey, UsageError

ResolveModel = Callable[[str, str], Awaitable[Sequence[ResolvedModel]]]  # who is asked for a tenant's model


class StoredKeys(Protocol):
    async def secret(self, tenant: str, provider: str, origin: str) -> str | None: ...


class ModelResolver:
    def __init__(self, registry: Registry, keys: StoredKeys, fallback: Mapping[str, tuple[str, ...]]) -> None:
        self._registry = registry
        self._keys = keys
        self._fallback = fallback

    async def resolve_with_fallbacks(self, tenant: str, model: str) -> Sequence[ResolvedModel]:
        """Find a model and who may be asked instead; those that cannot be asked now are passed over."""
        found: list[ResolvedModel] = []
        missing: UsageError | None = None
        for name in dict.fromkeys([model, *self._fallback.get(model, ())]):
            try:
                found.append(await self._resolve_for_tenant(tenant, name))
            except UsageError as error:
                missing = missing or error
        if not found and missing is not None:
            raise missing
        return found

    def resolve_with_key(self, model: str, secret: str) -> ResolvedModel:
        """Find a model to be asked with a key that is not remembered; where no key is needed, none is taken."""
        provider, _, name = model.partition("/")
        if provider not in self._registry:
            return self._registry.resolve_model(model)
        if not self._registry.takes_key(provider):
            raise UsageError(f"{provider} takes no key: leave apiKey out.")
        asked = self._registry.get_provider(provider)
        asked.check_model(name)
        return ResolvedModel(model, asked, name, KeyRing((Key("the key in the request", secret),)))

    async def _resolve_for_tenant(self, tenant: str, model: str) -> ResolvedModel:
        provider = model.partition("/")[0]
        if provider not in self._registry:
            return self._registry.resolve_model(model)
        secret = await self._keys.secret(tenant, provider, self._registry.provider_origin(provider))
        own = Key(f"the key you stored for {provider}", secret) if secret else None
        return self._registry.resolve_model(model, own)


DEFAULT_PARTICIPANT_COUNT = 3


class DefaultParticipants:
    """The line-up of the settings; or else their model; or else the usual models of those providers that can be asked.

    Without any of them it is what runs on this machine.
    """

    def __init__(
        self, model_resolver: ModelResolver, registry: Registry, preset: Sequence[str], model: str | None
    ) -> None:
        self._model_resolver = model_resolver
        self._registry = registry
        self._configured_models = tuple(preset) or ((model,) if model else ())

    async def default_models(self, tenant: str, *, single: bool) -> tuple[str, ...]:
        """Name the models, or the one that sits there alone; where there is but one, it has several seats."""
        found = self._configured_models or await self._discover_models(tenant)
        if single:
            return found[:1]
        return found if len(found) > 1 else tuple(islice(cycle(found), DEFAULT_PARTICIPANT_COUNT))

    async def _discover_models(self, tenant: str) -> tuple[str, ...]:
        if usual := [model async for model in self._models_with_key(tenant)][:DEFAULT_PARTICIPANT_COUNT]:
            return tuple(usual)
        for server in await find_local_servers(self._registry):
            if server.models:
                return (f"{server.provider}/{server.models[0]}",)
        try:
            return (self._registry.resolve_model(self._registry.embedded_model()).name,)
        except FeatureUnavailable as error:
            raise UsageError(
                f"model: there is none to ask. Name some in line_up of the settings, or store a key. {error}"
            ) from error

    async def _models_with_key(self, tenant: str) -> AsyncIterator[str]:
        for name in self._registry:
            if cheap := self._registry.cheap_model(name):
                try:
                    yield (await self._model_resolver.resolve_with_fallbacks(tenant, f"{name}/{cheap}"))[
                        0
                    ].name
                except MissingKey:
                    continue
