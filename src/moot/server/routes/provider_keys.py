"""Routes for providers and the tenant's own API keys. Responses never contain a stored key."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

from litestar import Controller, delete, get, put
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.providers.catalog import Api
from moot.providers.registry import Registry
from moot.store.accounts.provider_keys import ProviderKeys
from moot.types.accounts import Caller, StoredKey
from moot.types.errors import NotFound, UsageError

MAX_KEY_LENGTH = 500

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


class ProviderKeyRoutes(Controller):
    path = "/api"
    tags = ("providers",)

    @get("/providers", summary="List providers and the status of their keys")
    async def list_providers(
        self, caller: Given[Caller], registry: Given[Registry], provider_keys: Given[ProviderKeys]
    ) -> Sequence[ProviderStatus]:
        stored = await provider_keys.list_keys(caller.tenant)
        return [_provider_status(registry, name, own_key(registry, name, stored)) for name in registry]

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


def own_key(registry: Registry, name: str, stored_keys: Mapping[str, StoredKey]) -> StoredKey | None:
    """Return None if there is no key, or if it was stored for another origin."""
    key = stored_keys.get(name)
    return key if key is not None and key.origin == registry.provider_origin(name) else None


def _provider_status(registry: Registry, name: str, own: StoredKey | None) -> ProviderStatus:
    return ProviderStatus(
        name=name,
        api=registry.provider_api(name),
        origin=registry.provider_origin(name),
        key=key_status(registry, name, own),
        variables=registry.sendable_key_variables(name),
        stored_at=own.created_at if own else None,
    )


def key_status(registry: Registry, name: str, own: StoredKey | None) -> KeyStatus:
    """The tenant's own key takes precedence over the server's key."""
    if own is not None:
        return "own"
    if not registry.takes_key(name):
        return "not needed"
    return "server" if registry.server_keys(name) else "missing"
