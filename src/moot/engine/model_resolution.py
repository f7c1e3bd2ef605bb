"""Resolves a model name to providers, fallbacks and keys; picks default participants."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import cycle, islice
from typing import Literal, Protocol

from msgspec import Struct

from moot.providers.keys import Key, KeyRing
from moot.providers.registry import Registry, ResolvedModel
from moot.types.errors import FeatureUnavailable, MissingKey, UsageError
from moot.types.participants import Participant

# Arguments: tenant, model. Returns the model and its fallbacks, in order.
ResolveModel = Callable[[str, str], Awaitable[Sequence[ResolvedModel]]]
ModelChains = Mapping[str, Sequence[ResolvedModel]]  # by participant id: its model and fallbacks


class StoredKeys(Protocol):
    async def secret(self, tenant: str, provider: str, origin: str) -> str | None: ...


LOCAL_TENANT = ""  # of a process without accounts


class NoStoredKeys:
    async def secret(self, tenant: str, provider: str, origin: str) -> None:
        """Return no key, so that keys come only from the environment."""


class ModelResolver:
    def __init__(self, registry: Registry, keys: StoredKeys, fallback: Mapping[str, tuple[str, ...]]) -> None:
        self._registry = registry
        self._keys = keys
        self._fallback = fallback

    async def resolve_with_fallbacks(self, tenant: str, model: str) -> Sequence[ResolvedModel]:
        """Return the model and its fallbacks, without those that cannot be called, such as for a missing key.

        Raises the first UsageError if none can be called.
        """
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

    async def resolve_chains(self, tenant: str, participants: Sequence[Participant]) -> ModelChains:
        models = dict.fromkeys(who.model for who in participants)
        chains = {model: await self.resolve_with_fallbacks(tenant, model) for model in models}
        return {who.id: chains[who.model] for who in participants}

    def resolve_with_key(self, model: str, secret: str) -> ResolvedModel:
        """Resolve a model with the API key of one request. The key is not stored."""
        provider, _, name = model.partition("/")
        if provider not in self._registry:
            return self._registry.resolve_model(model)
        if not self._registry.takes_key(provider):
            raise UsageError(f"apiKey: {provider} takes no key. Remove it.")
        found = self._registry.get_provider(provider)
        found.check_model(name)
        return ResolvedModel(model, found, name, KeyRing((Key("the key in the request", secret),)))

    async def _resolve_for_tenant(self, tenant: str, model: str) -> ResolvedModel:
        provider = model.partition("/")[0]
        if provider not in self._registry:
            return self._registry.resolve_model(model)
        secret = await self._keys.secret(tenant, provider, self._registry.provider_origin(provider))
        own = Key(f"the key you stored for {provider}", secret) if secret else None
        return self._registry.resolve_model(model, own)


DEFAULT_PARTICIPANT_COUNT = 3


class DiscoveredModels(Struct, frozen=True):
    models: tuple[str, ...]
    found_by: Literal["key", "local_server", "embedded"]


class DefaultParticipants:
    """Chooses the models of a discussion that names none.

    In order: the preset of the config, its default model, cheap models of providers with a key, a local server, the
    embedded demo model.
    """

    def __init__(
        self, model_resolver: ModelResolver, registry: Registry, preset: Sequence[str], model: str | None
    ) -> None:
        self._model_resolver = model_resolver
        self._registry = registry
        self._configured_models = tuple(preset) or ((model,) if model else ())

    async def default_models(self, tenant: str, *, single: bool) -> tuple[str, ...]:
        """Return the default models. A single model is repeated, so that several participants use it."""
        try:
            found = self._configured_models or (await self.discover_models(tenant)).models
        except FeatureUnavailable as error:
            raise UsageError(
                f"model: no model is available. Set participants in the settings, or store a key. {error}"
            ) from error
        if single:
            return found[:1]
        return found if len(found) > 1 else tuple(islice(cycle(found), DEFAULT_PARTICIPANT_COUNT))

    async def discover_models(self, tenant: str) -> DiscoveredModels:
        """Ignore the settings. Raises FeatureUnavailable if not even the embedded model is available."""
        if with_key := [model async for model in self._models_with_key(tenant)][:DEFAULT_PARTICIPANT_COUNT]:
            return DiscoveredModels(tuple(with_key), "key")
        if local_models := await self._registry.list_local_models():
            return DiscoveredModels((local_models[0],), "local_server")
        return DiscoveredModels((self._registry.resolve_model(self._registry.embedded_model()).name,), "embedded")

    async def _models_with_key(self, tenant: str) -> AsyncIterator[str]:
        for name in self._registry:
            if cheap := self._registry.cheap_model(name):
                try:
                    yield (await self._model_resolver.resolve_with_fallbacks(tenant, f"{name}/{cheap}"))[0].name
                except MissingKey:
                    continue
