"""From `provider/model` to a provider that can be asked: addresses, keys and what is built in."""

import asyncio
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from msgspec import Struct

from moot.providers.anthropic import AnthropicWireFormat
from moot.providers.catalog import BUILT_IN_PROVIDERS, Api, BuiltInProvider, ProviderConfig, built_in_provider
from moot.providers.google import GoogleWireFormat
from moot.providers.http_provider import HttpProvider
from moot.providers.keys import Key, KeyRing
from moot.providers.local import DEMO_MODEL, LocalProvider
from moot.providers.openai import OpenAIWireFormat
from moot.providers.provider import Provider
from moot.providers.scripted import scripts
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.providers.transport import Transport
from moot.providers.wire_format import WireFormat
from moot.types.errors import BadSettings, MissingKey, ProviderError, UnknownModel
from moot.types.faults import make_fault

WIRE_FORMATS: Mapping[Api, type[WireFormat]] = {
    "openai": OpenAIWireFormat,
    "anthropic": AnthropicWireFormat,
    "google": GoogleWireFormat,
}

MAX_TENANT_KEY_RINGS = 1000  # how many tenants' keys are remembered while they cool down
API_VERSION_PATHS: Mapping[Api, str] = {"openai": "/v1", "anthropic": "/v1", "google": "/v1beta"}


class ResolvedModel(Struct, frozen=True):
    """A model that can be asked: its provider, its name there, and the keys to ask with."""

    name: str
    provider: Provider
    model: str
    keys: KeyRing


class Registry:
    """Every provider that is built in or configured; each is made at first use.

    With `stored_keys` whoever lacks a key is told that one of their own can be stored.
    """

    def __init__(
        self,
        configs: Mapping[str, ProviderConfig],
        environment: Mapping[str, str],
        *,
        stored_keys: bool = False,
    ) -> None:
        self._configs = configs
        self._environment = environment
        self._stored_keys = stored_keys
        self.transport = Transport()
        self._providers: dict[str, Provider] = {}
        self._key_rings: dict[str, KeyRing] = {}
        self._tenant_key_ring = lru_cache(MAX_TENANT_KEY_RINGS)(_single_key_ring)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._configs, *BUILT_IN_PROVIDERS]))

    def resolve_model(self, name: str, own_key: Key | None = None) -> ResolvedModel:
        """Find who answers for `provider/model`, with the asker's own key, or the server's if it needs one."""
        provider_name, _, model = name.partition("/")
        if provider_name not in self or not model:
            raise UnknownModel(self._unknown_model_message(name, provider_name))
        provider = self.get_provider(provider_name)
        provider.check_model(model)
        keys = (
            self._tenant_key_ring(provider_name, own_key.source, own_key.secret)
            if own_key
            else self.server_keys(provider_name)
        )
        if not keys and (missing := self.missing_key_message(provider_name)):
            raise MissingKey(missing)
        return ResolvedModel(name, provider, model, keys)

    def get_provider(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = self._create_provider(name)
        return self._providers[name]

    def server_keys(self, name: str) -> KeyRing:
        """Return the server's keys for a provider; what cannot be a key is left out."""
        if name not in self._key_rings:
            found = [(env, self._environment_secret(env)) for env in self.sendable_key_variables(name)]
            self._key_rings[name] = KeyRing(
                tuple(Key(env, secret) for env, secret in found if secret and secret.isprintable())
            )
        return self._key_rings[name]

    async def list_models(self, name: str, timeout_seconds: float, own_key: Key | None = None) -> list[str]:
        """Ask a provider for its models, with the asker's own key or the server's, and for so long at most."""
        if own_key is None and (missing := self.missing_key_message(name)):
            raise MissingKey(missing)
        key = own_key or self.server_keys(name).select_key(set())
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self.get_provider(name).list_models(key.secret if key else None)
        except TimeoutError:
            raise ProviderError(
                make_fault("timeout", f"{name} did not answer within {timeout_seconds:g} s.")
            ) from None

    def invalid_key_message(self, name: str) -> str | None:
        """Say which variable holds something that cannot be a key, or None where all is well."""
        for variable in self.sendable_key_variables(name):
            if not self._environment_secret(variable).isprintable():
                return f"The key in {variable} has a line break or control character in it."
        return None

    def missing_key_message(self, name: str) -> str | None:
        """Say what to do about a missing key, or None where nothing is missing."""
        names = self.sendable_key_variables(name)
        store = f", or store one of your own with PUT /api/keys/{name}" if self._stored_keys else ""
        if names and not self.server_keys(name):
            if broken := self.invalid_key_message(name):
                return f"{broken} Set it anew{store}."
            return f"No key for {name}: set {' or '.join(names)}{store}."
        wanted = self._key_variables(name)
        if wanted and not names:
            owner = next(b.base_url for b in BUILT_IN_PROVIDERS.values() if b.key_env == wanted[0])
            return (
                f"No key for {name}: {wanted[0]} belongs to {urlsplit(owner).hostname} and is not sent elsewhere. "
                f"Name another variable in key_env of [providers.{name}]{store}."
            )
        return None

    def sendable_key_variables(self, name: str) -> tuple[str, ...]:
        """Name the variables whose keys may be sent to this provider's address.

        A well-known variable belongs to its owner's address. A settings file may not send it elsewhere: the
        file may have come with a folder somebody else made.
        """
        names = self._key_variables(name)
        owned = {b.key_env: self._key_origins(b) for b in BUILT_IN_PROVIDERS.values() if b.key_env}
        origin = self.provider_origin(name)
        return tuple(n for n in names if n not in owned or origin in owned[n])

    def takes_key(self, name: str) -> bool:
        return bool(self._key_variables(name))

    def provider_api(self, name: str) -> Api | None:
        """Name the wire format of a provider; None where the settings leave it out."""
        return self._provider_config(name).api or built_in_provider(name).api

    def provider_origin(self, name: str) -> str:
        """Return scheme, host and port of where a provider's keys are sent; nothing if it has no address."""
        return _parse_origin(self.provider_base_url(name))

    def provider_base_url(self, name: str) -> str:
        known = built_in_provider(name)
        address = (
            self._provider_config(name).base_url or self._base_url_override(known) or known.base_url
        ).rstrip("/")
        api = self.provider_api(name)
        bare = _parse_origin(address) and not urlsplit(address).path  # some tools leave the version out
        return address + API_VERSION_PATHS.get(api, "") if bare and api else address

    def cheap_model(self, name: str) -> str | None:
        return built_in_provider(name).cheap_model or None

    def embedded_model(self) -> str:
        gguf = self._provider_config("local").gguf
        return f"local/{Path(gguf).stem if gguf else DEMO_MODEL}"

    def demo_model(self) -> str | None:
        """Name the embedded model where it is the tiny one, which users are told about."""
        return None if self._provider_config("local").gguf else f"local/{DEMO_MODEL}"

    def is_local_server(self, name: str) -> bool:
        """Tell servers that need no key, and so are worth a look on their usual port."""
        known = built_in_provider(name)
        return known.is_keyless and known.api in WIRE_FORMATS

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers.values():
            await provider.aclose()
        await self.transport.aclose()

    def _provider_config(self, name: str) -> ProviderConfig:
        return self._configs.get(name, ProviderConfig())

    def _environment_secret(self, variable: str) -> str:
        return self._environment.get(variable, "").strip()

    def _key_variables(self, name: str) -> tuple[str, ...]:
        known = built_in_provider(name)
        return self._provider_config(name).key_variables or ((known.key_env,) if known.key_env else ())

    def _base_url_override(self, entry: BuiltInProvider) -> str:
        """Return where the environment says that a built-in provider is."""
        return self._environment.get(entry.base_url_env, "") if entry.base_url_env else ""

    def _key_origins(self, entry: BuiltInProvider) -> set[str]:
        """Tell where a well-known key may go: to its owner, and where the environment says its owner is."""
        return {_parse_origin(entry.base_url), _parse_origin(self._base_url_override(entry))} - {""}

    def _create_provider(self, name: str) -> Provider:
        known, config = built_in_provider(name), self._provider_config(name)
        api = self.provider_api(name)
        match api:
            case None:
                raise BadSettings(f'[providers.{name}] needs api = "openai", "anthropic" or "google".')
            case "local":
                return LocalProvider(Path(config.gguf).expanduser() if config.gguf else None)
            case "scripted":
                path = Path(config.script).expanduser() if config.script else None
                return ScriptedProvider(
                    Scripts(scripts.load_scripts(path) if path else scripts.BUILT_IN_SCRIPTS)
                )
        base_url = self.provider_base_url(name)
        if not _parse_origin(base_url):
            where = f"{known.base_url_env} or " if known.base_url_env else ""
            raise BadSettings(
                f"The address of {name} cannot be used: {where}base_url in [providers.{name}] must begin with "
                "http:// or https:// and name a host."
            )
        return HttpProvider(
            name,
            WIRE_FORMATS[api](),
            base_url,
            self.transport,
            is_free=known.is_keyless and _is_private_host(base_url),
        )

    def _unknown_model_message(self, name: str, provider: str) -> str:
        if provider in self:
            return f"{name!r} names no model: write {provider}/MODEL. `moot models` lists them."
        near = get_close_matches(provider, list(self), n=1, cutoff=0.75)
        hint = f"Did you mean {near[0]}/…?" if near else f"Providers are: {', '.join(self)}."
        return f"Unknown model {name!r}: a model is written provider/model. {hint}"


def _single_key_ring(provider: str, source: str, secret: str) -> KeyRing:  # noqa: ARG001 - a key cools for its provider only
    return KeyRing((Key(source, secret),))


def _parse_origin(url: str) -> str:
    """Return scheme, host and port of an address that can be asked, else nothing."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return ""
    usual = 443 if parts.scheme == "https" else 80
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in {None, usual} else "")


def _is_private_host(url: str) -> bool:
    """Tell whether an address is on this machine or in its own network, where nobody sends a bill."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(".local")
