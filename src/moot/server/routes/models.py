"""Route that lists models. Each provider is queried with the key that the caller's runs would use."""

import asyncio
from collections.abc import Sequence

from litestar import Controller, get
from litestar.di import NamedDependency as Given
from litestar.params import FromQuery
from msgspec import Struct
from msgspec.structs import replace

from moot.providers.keys import Key
from moot.providers.local import DEMO_NOTE
from moot.providers.registry import Registry
from moot.server.rate_limits import model_request_rate
from moot.server.routes.provider_keys import KeyStatus, key_status, own_key
from moot.store.accounts.provider_keys import ProviderKeys
from moot.store.billing.usage import TokenRate, TokenRates
from moot.types.accounts import Caller
from moot.types.errors import ProviderError, UsageError

LIST_MODELS_SECONDS = 5.0
SCRIPTED_NOTE = "scripts for demonstrations and tests, no real models"


class ProviderModels(Struct, frozen=True, kw_only=True):
    provider: str
    key: KeyStatus  # the key that the request used
    ready: bool = False  # the models can be called now
    note: str | None = None  # warning about demo and scripted models
    models: tuple[str, ...] = ()  # as `provider/model`
    default_model: str | None = None  # the default model, if known
    token_rates: dict[str, TokenRate] = {}  # measured rates; other models count as four characters per token
    error: str | None = None  # why there are no models


class ModelRoutes(Controller):
    path = "/api"
    tags = ("providers",)

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
        keys = {name: key_status(registry, name, own_key(registry, name, stored)) for name in names}
        secrets = {
            name: await provider_keys.secret(caller.tenant, name, registry.provider_origin(name))
            for name, key in keys.items()
            if key == "own"
        }
        requests = (_provider_models(registry, name, key, secrets.get(name)) for name, key in keys.items())
        found = await asyncio.gather(*requests)
        rates = await token_rates.rates_by_model([model for one in found for model in one.models])
        return [replace(one, token_rates={m: rates[m] for m in one.models if m in rates}) for one in found]


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
