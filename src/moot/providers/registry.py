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

from moot.providers.anthropic import AnthropicWire
from moot.providers.catalog import BUILT_IN, Api, BuiltIn, ProviderConfig, built_in
from moot.providers.google import GoogleWire
from moot.providers.http_provider import HttpProvider
from moot.providers.keys import Key, KeyRing
from moot.providers.local import DEMO, LocalProvider
from moot.providers.openai import OpenAIWire
from moot.providers.provider import Provider
from moot.providers.scripted import scripts
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.providers.transport import Transport
from moot.providers.wire_format import Wire
from moot.types.errors import BadSettings, MissingKey, ProviderError, UnknownModel
from moot.types.faults import fault

WIRES: Mapping[Api, type[Wire]] = {"openai": OpenAIWire, "anthropic": AnthropicWire, "google": GoogleWire}

OWN_RINGS = 1000  # how many tenants' keys are remembered while they cool down
VERSIONS: Mapping[Api, str] = {"openai": "/v1", "anthropic": "/v1", "google": "/v1beta"}


class Resolved(Struct, frozen=True):
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
        self._rings: dict[str, KeyRing] = {}
        self._own_ring = lru_cache(OWN_RINGS)(_ring_of_one)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._configs, *BUILT_IN]))

    def resolve(self, name: str, own: Key | None = None) -> Resolved:
        """Find who answers for `provider/model`, with the asker's own key, or the server's if it needs one."""
        provider_name, _, model = name.partition("/")
        if provider_name not in self or not model:
            raise UnknownModel(self._unknown(name, provider_name))
        provider = self.provider(provider_name)
        provider.check(model)
        keys = self._own_ring(provider_name, own.source, own.secret) if own else self.keys(provider_name)
        if not keys and (missing := self.lacks_key(provider_name)):
            raise MissingKey(missing)
        return Resolved(name, provider, model, keys)

    def provider(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = self._make(name)
        return self._providers[name]

    def keys(self, name: str) -> KeyRing:
        """Return the server's keys for a provider; what cannot be a key is left out."""
        if name not in self._rings:
            found = [(env, self._secret(env)) for env in self.key_names(name)]
            self._rings[name] = KeyRing(
                tuple(Key(env, secret) for env, secret in found if secret and secret.isprintable())
            )
        return self._rings[name]

    async def models(self, name: str, seconds: float, own: Key | None = None) -> list[str]:
        """Ask a provider for its models, with the asker's own key or the server's, and for so long at most."""
        if own is None and (missing := self.lacks_key(name)):
            raise MissingKey(missing)
        key = own or self.keys(name).next(set())
        try:
            async with asyncio.timeout(seconds):
                return await self.provider(name).models(key.secret if key else None)
        except TimeoutError:
            raise ProviderError(fault("timeout", f"{name} did not answer within {seconds:g} s.")) from None

    def broken_key(self, name: str) -> str | None:
        """Say which variable holds something that cannot be a key, or None where all is well."""
        for variable in self.key_names(name):
            if not self._secret(variable).isprintable():
                return f"The key in {variable} has a line break or control character in it."
        return None

    def lacks_key(self, name: str) -> str | None:
        """Say what to do about a missing key, or None where nothing is missing."""
        names = self.key_names(name)
        store = f", or store one of your own with PUT /api/keys/{name}" if self._stored_keys else ""
        if names and not self.keys(name):
            if broken := self.broken_key(name):
                return f"{broken} Set it anew{store}."
            return f"No key for {name}: set {' or '.join(names)}{store}."
        wanted = self._wanted_keys(name)
        if wanted and not names:
            owner = next(b.base_url for b in BUILT_IN.values() if b.key_env == wanted[0])
            return (
                f"No key for {name}: {wanted[0]} belongs to {urlsplit(owner).hostname} and is not sent elsewhere. "
                f"Name another variable in key_env of [providers.{name}]{store}."
            )
        return None

    def key_names(self, name: str) -> tuple[str, ...]:
        """Name the variables whose keys may be sent to this provider's address.

        A well-known variable belongs to its owner's address. A settings file may not send it elsewhere: the
        file may have come with a folder somebody else made.
        """
        names = self._wanted_keys(name)
        owned = {b.key_env: self._origins(b) for b in BUILT_IN.values() if b.key_env}
        origin = self.origin(name)
        return tuple(n for n in names if n not in owned or origin in owned[n])

    def takes_key(self, name: str) -> bool:
        return bool(self._wanted_keys(name))

    def api(self, name: str) -> Api | None:
        """Name the wire format of a provider; None where the settings leave it out."""
        return self._config(name).api or built_in(name).api

    def origin(self, name: str) -> str:
        """Return scheme, host and port of where a provider's keys are sent; nothing if it has no address."""
        return _origin(self.base_url(name))

    def base_url(self, name: str) -> str:
        known = built_in(name)
        address = (self._config(name).base_url or self._moved(known) or known.base_url).rstrip("/")
        api = self.api(name)
        bare = _origin(address) and not urlsplit(address).path  # some tools leave the version out
        return address + VERSIONS.get(api, "") if bare and api else address

    def cheap_model(self, name: str) -> str | None:
        return built_in(name).cheap or None

    def embedded_model(self) -> str:
        gguf = self._config("local").gguf
        return f"local/{Path(gguf).stem if gguf else DEMO}"

    def demo_model(self) -> str | None:
        """Name the embedded model where it is the tiny one, which users are told about."""
        return None if self._config("local").gguf else f"local/{DEMO}"

    def on_this_machine(self, name: str) -> bool:
        """Tell servers that need no key, and so are worth a look on their usual port."""
        known = built_in(name)
        return known.on_this_machine and known.api in WIRES

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers.values():
            await provider.aclose()
        await self.transport.aclose()

    def _config(self, name: str) -> ProviderConfig:
        return self._configs.get(name, ProviderConfig())

    def _secret(self, variable: str) -> str:
        return self._environment.get(variable, "").strip()

    def _wanted_keys(self, name: str) -> tuple[str, ...]:
        known = built_in(name)
        return self._config(name).key_names or ((known.key_env,) if known.key_env else ())

    def _moved(self, known: BuiltIn) -> str:
        """Return where the environment says that a built-in provider is."""
        return self._environment.get(known.base_env, "") if known.base_env else ""

    def _origins(self, known: BuiltIn) -> set[str]:
        """Tell where a well-known key may go: to its owner, and where the environment says its owner is."""
        return {_origin(known.base_url), _origin(self._moved(known))} - {""}

    def _make(self, name: str) -> Provider:
        known, config = built_in(name), self._config(name)
        api = self.api(name)
        match api:
            case None:
                raise BadSettings(f'[providers.{name}] needs api = "openai", "anthropic" or "google".')
            case "local":
                return LocalProvider(Path(config.gguf).expanduser() if config.gguf else None)
            case "scripted":
                path = Path(config.script).expanduser() if config.script else None
                return ScriptedProvider(Scripts(scripts.load(path) if path else scripts.BUILT_IN))
        base_url = self.base_url(name)
        if not _origin(base_url):
            where = f"{known.base_env} or " if known.base_env else ""
            raise BadSettings(
                f"The address of {name} cannot be used: {where}base_url in [providers.{name}] must begin with "
                "http:// or https:// and name a host."
            )
        return HttpProvider(
            name,
            WIRES[api](),
            base_url,
            self.transport,
            free=known.on_this_machine and _is_near(base_url),
        )

    def _unknown(self, name: str, provider: str) -> str:
        if provider in self:
            return f"{name!r} names no model: write {provider}/MODEL. `moot models` lists them."
        near = get_close_matches(provider, list(self), n=1, cutoff=0.75)
        hint = f"Did you mean {near[0]}/…?" if near else f"Providers are: {', '.join(self)}."
        return f"Unknown model {name!r}: a model is written provider/model. {hint}"


def _ring_of_one(provider: str, source: str, secret: str) -> KeyRing:  # noqa: ARG001 - a key cools for its provider only
    return KeyRing((Key(source, secret),))


def _origin(url: str) -> str:
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


def _is_near(url: str) -> bool:
    """Tell whether an address is on this machine or in its own network, where nobody sends a bill."""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost" or host.endswith(".local")
