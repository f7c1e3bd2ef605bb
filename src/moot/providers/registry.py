"""Registry of providers: resolves `provider/model` names, base URLs and API keys.

A well-known key, such as OPENAI_API_KEY, is sent only to the origin of its owner.
"""

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
from moot.providers.transport import Transport
from moot.providers.wire_format import WireFormat
from moot.types.errors import BadSettings, FeatureUnavailable, MissingKey, ProviderError, UnknownModel, UsageError
from moot.types.faults import make_fault
from moot.types.model_info import Profile

WIRE_FORMATS: Mapping[Api, type[WireFormat]] = {
    "openai": OpenAIWireFormat,
    "anthropic": AnthropicWireFormat,
    "google": GoogleWireFormat,
}

LOCAL_SERVER_TIMEOUT_SECONDS = 1.0
MAX_TENANT_KEY_RINGS = 1000  # tenant keys whose cooldown is remembered
API_VERSION_PATHS: Mapping[Api, str] = {"openai": "/v1", "anthropic": "/v1", "google": "/v1beta"}


class ResolvedModel(Struct, frozen=True):
    name: str  # provider/model
    provider: Provider
    model: str  # name without the provider
    keys: KeyRing


class Registry:
    """All built-in and configured providers. Each provider is created at first use.

    An async context manager; on exit it closes the providers and the transport.
    """

    def __init__(
        self,
        configs: Mapping[str, ProviderConfig],
        environment: Mapping[str, str],
        *,
        stored_keys: bool = False,  # users can store keys of their own; error messages say so
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
        """Find provider, model and keys. `own_key` of the user replaces the keys of the server.

        Raises UnknownModel or MissingKey.
        """
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

    def unavailable_reason(self, name: str) -> str | None:
        """Return why a known model cannot be called now, such as a missing key. Raises UsageError for an unknown one."""
        try:
            self.resolve_model(name)
        except (MissingKey, FeatureUnavailable) as error:
            return str(error)
        return None

    def find_profile(self, name: str) -> Profile | None:
        """Return None if no provider offers the model. Blocking: the first call loads the price list from disk."""
        provider, _, model = name.partition("/")
        try:
            return self.get_provider(provider).model_profile(model) if provider in self else None
        except UsageError:
            return None

    def get_provider(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = self._create_provider(name)
        return self._providers[name]

    def server_keys(self, name: str) -> KeyRing:
        """Return the keys from the environment. Invalid keys are left out."""
        if name not in self._key_rings:
            secrets = [(env, self._environment_secret(env)) for env in self.sendable_key_variables(name)]
            self._key_rings[name] = KeyRing(
                tuple(Key(env, secret) for env, secret in secrets if secret and secret.isprintable())
            )
        return self._key_rings[name]

    async def list_models(self, name: str, timeout_seconds: float, own_key: Key | None = None) -> list[str]:
        """List the models of a provider. Raises MissingKey, or ProviderError also after the timeout."""
        if own_key is None and (missing := self.missing_key_message(name)):
            raise MissingKey(missing)
        key = own_key or self.server_keys(name).select_key(set())
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self.get_provider(name).list_models(key.secret if key else None)
        except TimeoutError:
            raise ProviderError(make_fault("timeout", f"{name} did not answer within {timeout_seconds:g} s.")) from None

    async def list_local_models(self) -> list[str]:
        """Ask all known local servers concurrently, at their default ports. Returns `provider/model` names.

        A server that fails or times out is left out.
        """
        found = await asyncio.gather(*(self._list_server_models(name) for name in self if self.is_local_server(name)))
        return [model for models in found for model in models]

    def invalid_key_message(self, name: str) -> str | None:
        """Return an error message that names the variable, or None if all keys are valid."""
        for variable in self.sendable_key_variables(name):
            if not self._environment_secret(variable).isprintable():
                return f"The key in {variable} has a line break or control character in it."
        return None

    def missing_key_message(self, name: str) -> str | None:
        """Return an error message with the fix, or None if no key is missing."""
        variables = self.sendable_key_variables(name)
        store_hint = f", or store one of your own with PUT /api/keys/{name}" if self._stored_keys else ""
        if variables and not self.server_keys(name):
            if invalid := self.invalid_key_message(name):
                return f"{invalid} Set it again{store_hint}."
            return f"No key for {name}: set {' or '.join(variables)}{store_hint}."
        all_variables = self._key_variables(name)
        if all_variables and not variables:
            owner = next(b.base_url for b in BUILT_IN_PROVIDERS.values() if b.key_env == all_variables[0])
            return (
                f"No key for {name}: {all_variables[0]} belongs to {urlsplit(owner).hostname} and is not sent elsewhere. "
                f"Name another variable in key_env of [providers.{name}]{store_hint}."
            )
        return None

    def sendable_key_variables(self, name: str) -> tuple[str, ...]:
        """Return the environment variables whose keys may be sent to the base URL of this provider.

        A well-known key is sent only to the origin of its owner. The settings file cannot change that, because
        the file may come from another person, for example in a cloned repository.
        """
        variables = self._key_variables(name)
        origins_by_variable = {b.key_env: self._key_origins(b) for b in BUILT_IN_PROVIDERS.values() if b.key_env}
        origin = self.provider_origin(name)
        return tuple(n for n in variables if n not in origins_by_variable or origin in origins_by_variable[n])

    def takes_key(self, name: str) -> bool:
        return bool(self._key_variables(name))

    def provider_api(self, name: str) -> Api | None:
        """Return the wire format; None if the settings omit it."""
        return self._provider_config(name).api or built_in_provider(name).api

    def provider_origin(self, name: str) -> str:
        """Return scheme, host and port of the base URL; an empty string if there is none."""
        return _parse_origin(self.provider_base_url(name))

    def provider_base_url(self, name: str) -> str:
        known = built_in_provider(name)
        base_url = self._provider_config(name).base_url or self._base_url_override(known) or known.base_url
        base_url, api = base_url.rstrip("/"), self.provider_api(name)
        # Some tools omit the version path.
        has_no_path = _parse_origin(base_url) and not urlsplit(base_url).path
        return base_url + API_VERSION_PATHS.get(api, "") if has_no_path and api else base_url

    def cheap_model(self, name: str) -> str | None:
        return built_in_provider(name).cheap_model or None

    def embedded_model(self) -> str:
        gguf = self._provider_config("local").gguf
        return f"local/{Path(gguf).stem if gguf else DEMO_MODEL}"

    def demo_model(self) -> str | None:
        """Return the bundled demo model; None if the settings configure another embedded model."""
        return None if self._provider_config("local").gguf else f"local/{DEMO_MODEL}"

    def is_local_server(self, name: str) -> bool:
        """Whether the provider is a keyless server with a default port, which `list_local_models` asks."""
        known = built_in_provider(name)
        return known.is_keyless and known.api in WIRE_FORMATS

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers.values():
            await provider.aclose()
        await self.transport.aclose()

    async def _list_server_models(self, name: str) -> list[str]:
        try:
            return [f"{name}/{model}" for model in await self.list_models(name, LOCAL_SERVER_TIMEOUT_SECONDS)]
        except (UsageError, ProviderError):
            return []

    def _provider_config(self, name: str) -> ProviderConfig:
        return self._configs.get(name, ProviderConfig())

    def _environment_secret(self, variable: str) -> str:
        return self._environment.get(variable, "").strip()

    def _key_variables(self, name: str) -> tuple[str, ...]:
        known = built_in_provider(name)
        return self._provider_config(name).key_variables or ((known.key_env,) if known.key_env else ())

    def _base_url_override(self, entry: BuiltInProvider) -> str:
        return self._environment.get(entry.base_url_env, "") if entry.base_url_env else ""

    def _key_origins(self, entry: BuiltInProvider) -> set[str]:
        """Return the allowed origins of a well-known key. Unlike a settings file, the environment is trusted."""
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
                return _create_scripted_provider(Path(config.script).expanduser() if config.script else None)
        base_url = self.provider_base_url(name)
        if not _parse_origin(base_url):
            variable = f"{known.base_url_env} or " if known.base_url_env else ""
            raise BadSettings(
                f"The base URL of {name} is invalid: {variable}base_url in [providers.{name}] must begin with "
                "http:// or https:// and name a host."
            )
        return HttpProvider(
            name, WIRE_FORMATS[api](), base_url, self.transport, is_free=known.is_keyless and _is_private_host(base_url)
        )

    def _unknown_model_message(self, name: str, provider: str) -> str:
        if provider in self:
            return f"{name!r} has no model name: write {provider}/MODEL. `moot models` lists them."
        matches = get_close_matches(provider, list(self), n=1, cutoff=0.75)
        hint = f"Did you mean {matches[0]}/…?" if matches else f"Providers are: {', '.join(self)}."
        return f"Unknown model {name!r}: a model is written provider/model. {hint}"


def _create_scripted_provider(path: Path | None) -> Provider:
    from moot.providers.scripted import provider, scripts  # noqa: PLC0415 - reads the samples from YAML files

    return provider.ScriptedProvider(scripts.Scripts(scripts.load_scripts(path)))


def _single_key_ring(provider: str, source: str, secret: str) -> KeyRing:  # noqa: ARG001 - the cache key: a cooldown is per provider
    return KeyRing((Key(source, secret),))


def _parse_origin(url: str) -> str:
    """Return scheme, host and non-default port; an empty string for an invalid URL."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return ""
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return ""
    default_port = 443 if parts.scheme == "https" else 80
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}" + (f":{port}" if port not in {None, default_port} else "")


def _is_private_host(url: str) -> bool:
    """Whether the host is local or in a private network, so that requests are free."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(".local")
