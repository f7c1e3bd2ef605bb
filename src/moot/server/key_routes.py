"""Providers, and a tenant's own keys for them: they are stored, replaced and dropped, and never shown again."""

from collections.abc import Sequence
from typing import Annotated, Literal

from litestar import Controller, delete, get, put
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import Meta, Struct

from moot.model.accounts import Caller, StoredKey
from moot.model.errors import BadSettings, UsageError
from moot.providers.registry import Api, Registry
from moot.store.keys import ProviderKeys

LONGEST_KEY = 500

KeyStatus = Literal["own", "server", "missing", "not needed"]


class NewKey(Struct, frozen=True, forbid_unknown_fields=True):
    key: Annotated[str, Meta(min_length=1, max_length=LONGEST_KEY)]

    def __repr__(self) -> str:
        return "NewKey([key])"


class ProviderStatus(Struct, frozen=True, kw_only=True):
    """`key` says whose would be used; `variables` may hold the server's, and `stored_at` is of one's own."""

    name: str
    api: Api | None
    origin: str
    key: KeyStatus
    variables: tuple[str, ...]
    stored_at: float | None


class KeyRoutes(Controller):
    path = "/api"
    tags = ("providers",)

    @get("/providers", summary="List providers, and whether there is a key for each")
    async def providers(
        self, caller: Given[Caller], registry: Given[Registry], provider_keys: Given[ProviderKeys]
    ) -> Sequence[ProviderStatus]:
        stored = await provider_keys.of(caller.tenant)
        return [_status(registry, name, stored.get(name)) for name in registry]

    @put("/keys/{provider:str}", status_code=204, summary="Store a key of one's own for a provider")
    async def put_key(
        self,
        provider: FromPath[str],
        data: JSONBody[NewKey],
        caller: Given[Caller],
        registry: Given[Registry],
        provider_keys: Given[ProviderKeys],
    ) -> None:
        """Store it for the address that the provider has now; should that change, it is not sent there."""
        if provider not in list(registry):
            raise UsageError(f"There is no provider {provider!r}. Providers are: {', '.join(registry)}.")
        if not registry.takes_key(provider) or not registry.origin(provider):
            raise UsageError(f"{provider} takes no key.")
        if not data.key.isascii() or not data.key.isprintable() or " " in data.key:
            raise UsageError(
                "A key has only visible ASCII characters: paste it without spaces or line breaks."
            )
        await provider_keys.put(caller.tenant, provider, registry.origin(provider), data.key)

    @delete("/keys/{provider:str}", summary="Delete one's own key for a provider")
    async def drop_key(
        self, provider: FromPath[str], caller: Given[Caller], provider_keys: Given[ProviderKeys]
    ) -> None:
        await provider_keys.drop(caller.tenant, provider)


def _status(registry: Registry, name: str, stored: StoredKey | None) -> ProviderStatus:
    origin = registry.origin(name)
    own = stored if stored is not None and stored.origin == origin else None
    return ProviderStatus(
        name=name,
        api=registry.api(name),
        origin=origin,
        key="own" if own else _server_key(registry, name),
        variables=registry.key_names(name),
        stored_at=own.created_at if own else None,
    )


def _server_key(registry: Registry, name: str) -> KeyStatus:
    if not registry.takes_key(name):
        return "not needed"
    try:
        return "server" if registry.keys(name) else "missing"
    except BadSettings:  # the variable holds something that cannot be a key
        return "missing"
