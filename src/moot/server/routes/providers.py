"""Routes for providers, their models and the tenant's own API keys. Responses never contain a stored key.

Each provider is queried for its models with the key that the caller's runs would use.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from litestar import Controller, delete, get, put
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, FromQuery, JSONBody
from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.providers.catalog import Api
from moot.providers.keys import Key
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry
from moot.server.rate_limits import model_request_rate
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.billing.usage import TokenRate, TokenRates
from moot.types.accounts import Caller, StoredKey
from moot.types.errors import NotFound, ProviderError, UsageError

MAX_KEY_LENGTH = 500
LIST_MODELS_SECONDS = 5.0
SCRIPTED_NOTE = "scripts for demonstrations and tests, no real models"

KeyStatus = Literal["own", "server", "missing", "not needed"]


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY_LENGTH)]

    def __repr__(self) -> str:
        return "NewKey([key])"


class ProviderStatus(Struct, frozen=True, kw_only=True):
    name: str
    api: Api | None
    origin: str
    key: KeyStatus  # the key that a request would use
    variables: tuple[str, ...]  # environment variables for the server's key
    stored_at: float | None  # time of the tenant's own key; None if there is none


class ProviderModels(Struct, frozen=True, kw_only=True):
    provider: str
    key: KeyStatus  # the key that the request used
    ready: bool = False  # the models can be called now
    note: str | None = None  # warning about demo and scripted models
    models: tuple[str, ...] = ()  # as `provider/model`
    default_model: str | None = None  # the default model, if known
    token_rates: dict[str, TokenRate] = {}  # measured rates; other models count as four characters per token
    error: str | None = None  # why there are no models


class ProviderRoutes(Controller):
    path = "/api"
    tags = ("providers",)

    @get("/providers", summary="List providers and the status of their keys")
    async def list_providers(
        self, caller: Given[Caller], registry: Given[Registry], provider_keys: Given[ProviderKeys]
    ) -> Sequence[ProviderStatus]:
        stored = await provider_keys.list_keys(caller.tenant)
        return [_provider_status(registry, name, _own_key(registry, name, stored)) for name in registry]

    @put("/keys/{provider:str}", status_code=204, summary="Store your own key for a provider")
    async def store_provider_key(
        self,
        provider: FromPath[str],
        data: JSONBody[NewKey],
        caller: Given[Caller],
        registry: Given[Registry],
        provider_keys: Given[ProviderKeys],
    ) -> None:
        """The key is bound to the provider's current origin. It is never sent to another origin."""
        if provider not in registry:
            raise NotFound(f"There is no provider {provider!r}. Providers are: {', '.join(registry)}.")
        if not registry.takes_key(provider) or not registry.provider_origin(provider):
            raise UsageError(f"{provider} takes no key.")
        if not data.key.isascii() or not data.key.isprintable() or " " in data.key:
            raise UsageError("key: it must have visible ASCII characters only. Paste it without spaces or line breaks.")
        await provider_keys.store_key(caller.tenant, provider, registry.provider_origin(provider), data.key)

    @delete("/keys/{provider:str}", summary="Delete your own key for a provider")
    async def delete_provider_key(
        self, provider: FromPath[str], caller: Given[Caller], provider_keys: Given[ProviderKeys]
    ) -> None:
        await provider_keys.delete_key(caller.tenant, provider)

    @get("/models", guards=[model_request_rate], summary="List the models of all providers, or of one")
    async def list_provider_models(
        self,
        caller: Given[Caller],
        registry: Given[Registry],
        provider_keys: Given[ProviderKeys],
        token_rates: Given[TokenRates],
        provider: FromQuery[str | None] = None,
    ) -> Sequence[ProviderModels]:
        """Query all providers concurrently, each with a timeout of a few seconds."""
        if provider is not None and provider not in registry:
            raise UsageError(f"provider: there is no {provider!r}. Providers are: {', '.join(registry)}.")
        names = [provider] if provider is not None else list(registry)
        stored = await provider_keys.list_keys(caller.tenant)
        keys = {name: _key_status(registry, name, _own_key(registry, name, stored)) for name in names}
        secrets = {
            name: await provider_keys.secret(caller.tenant, name, registry.provider_origin(name))
            for name, key in keys.items()
            if key == "own"
        }
        requests = (_provider_models(registry, name, key, secrets.get(name)) for name, key in keys.items())
        found = await asyncio.gather(*requests)
        rates = await token_rates.rates_by_model([model for one in found for model in one.models])
        return [replace(one, token_rates={m: rates[m] for m in one.models if m in rates}) for one in found]


def _own_key(registry: Registry, name: str, stored_keys: Mapping[str, StoredKey]) -> StoredKey | None:
    """Return None if there is no key, or if it was stored for another origin."""
    key = stored_keys.get(name)
    return key if key is not None and key.origin == registry.provider_origin(name) else None


def _provider_status(registry: Registry, name: str, own: StoredKey | None) -> ProviderStatus:
    return ProviderStatus(
        name=name,
        api=registry.provider_api(name),
        origin=registry.provider_origin(name),
        key=_key_status(registry, name, own),
        variables=registry.sendable_key_variables(name),
        stored_at=own.created_at if own else None,
    )


def _key_status(registry: Registry, name: str, own: StoredKey | None) -> KeyStatus:
    """The tenant's own key takes precedence over the server's key."""
    if own is not None:
        return "own"
    if not registry.takes_key(name):
        return "not needed"
    return "server" if registry.server_keys(name) else "missing"


async def _provider_models(registry: Registry, name: str, key: KeyStatus, secret: str | None) -> ProviderModels:
    result = ProviderModels(provider=name, key=key, note=_provider_note(registry, name))
    try:
        own = Key(f"the key you stored for {name}", secret) if secret else None
        found = await registry.list_models(name, LIST_MODELS_SECONDS, own)
    except (UsageError, ProviderError) as error:
        return replace(result, error=str(error))
    models = tuple(f"{name}/{model}" for model in sorted(found))
    return replace(
        result,
        ready=bool(found),
        models=models,
        default_model=find_default_model(name, models, registry.cheap_model(name)),
    )


def find_default_model(name: str, models: Sequence[str], cheap_model: str | None) -> str | None:
    """Match the cheap model by prefix, because providers may append a date. None if it is not in the list."""
    return next((model for model in models if cheap_model and model.startswith(f"{name}/{cheap_model}")), None)


def _provider_note(registry: Registry, name: str) -> str | None:
    if registry.provider_api(name) == "scripted":
        return SCRIPTED_NOTE
    return DEMO_NOTE if name == "local" and registry.demo_model() else None
