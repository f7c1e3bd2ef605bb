"""From `provider/model` to a provider that can be asked: addresses, keys and what is built in."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from msgspec import Struct

from moot.model.errors import BadSettings, MissingKey, UnknownModel
from moot.providers import scripts
from moot.providers.anthropic import AnthropicWire
from moot.providers.google import GoogleWire
from moot.providers.http import HttpProvider
from moot.providers.keys import Key, KeyRing
from moot.providers.local import DEMO, LocalProvider
from moot.providers.openai import OpenAIWire
from moot.providers.provider import Provider
from moot.providers.scripted import ScriptedProvider
from moot.providers.scripts import Scripts
from moot.providers.transport import Transport
from moot.providers.wire import Wire

Api = Literal["openai", "anthropic", "google", "local", "scripted"]

WIRES: Mapping[Api, type[Wire]] = {"openai": OpenAIWire, "anthropic": AnthropicWire, "google": GoogleWire}


class ProviderConfig(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A `[providers.NAME]` table. `gguf` is for the embedded model, `script` for scripted ones."""

    api: Api | None = None
    base_url: str | None = None
    key_env: str | tuple[str, ...] = ()
    gguf: str | None = None
    script: str | None = None

    @property
    def key_names(self) -> tuple[str, ...]:
        return (self.key_env,) if isinstance(self.key_env, str) else self.key_env


class BuiltIn(Struct, frozen=True):
    """A provider everyone knows: `base_env` may move it, `cheap` is what to ask when no model was named."""

    api: Api
    base_url: str = ""
    key_env: str = ""
    base_env: str = ""
    cheap: str = ""

    @property
    def on_this_machine(self) -> bool:
        return not self.key_env


BUILT_IN: Mapping[str, BuiltIn] = {
    "anthropic": BuiltIn("anthropic", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "claude-sonnet-4-5"),
    "openai": BuiltIn("openai", "https://api.openai.com/v1", "OPENAI_API_KEY", "OPENAI_BASE_URL", "gpt-5-mini"),
    "google": BuiltIn("google", "https://generativelanguage.googleapis.com/v1beta", "GEMINI_API_KEY", "GEMINI_BASE_URL", "gemini-2.5-flash"),
    "openrouter": BuiltIn("openai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "", "openrouter/auto"),
    "groq": BuiltIn("openai", "https://api.groq.com/openai/v1", "GROQ_API_KEY", "", "openai/gpt-oss-20b"),
    "deepseek": BuiltIn("openai", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "", "deepseek-chat"),
    "mistral": BuiltIn("openai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", "", "mistral-small-latest"),
    "ollama": BuiltIn("openai", "http://127.0.0.1:11434/v1", base_env="OLLAMA_BASE_URL"),
    "lmstudio": BuiltIn("openai", "http://127.0.0.1:1234/v1", base_env="LMSTUDIO_BASE_URL"),
    "llamacpp": BuiltIn("openai", "http://127.0.0.1:8080/v1", base_env="LLAMACPP_BASE_URL"),
    "vllm": BuiltIn("openai", "http://127.0.0.1:8000/v1", base_env="VLLM_BASE_URL"),
    "local": BuiltIn("local"),
    "scripted": BuiltIn("scripted"),
}  # fmt: skip


class Resolved(Struct, frozen=True):
    """A model that can be asked: its provider, its name there, and the keys to ask with."""

    name: str
    provider: Provider
    model: str
    keys: KeyRing


class Registry:
    """Every provider that is built in or configured; each is made at first use."""

    def __init__(
        self,
        configs: Mapping[str, ProviderConfig],
        environment: Mapping[str, str],
        transport: Transport | None = None,
    ) -> None:
        self._configs = configs
        self._environment = environment
        self._transport = transport or Transport()
        self._providers: dict[str, Provider] = {}
        self._rings: dict[str, KeyRing] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._configs, *BUILT_IN]))

    def resolve(self, name: str) -> Resolved:
        """Find who answers for `provider/model`, with a key if it needs one."""
        provider_name, _, model = name.partition("/")
        if provider_name not in list(self) or not model:
            raise UnknownModel(self._unknown(name, provider_name))
        provider = self.provider(provider_name)
        provider.check(model)
        keys = self.keys(provider_name)
        if not keys and (missing := self.lacks_key(provider_name)):
            raise MissingKey(missing)
        return Resolved(name, provider, model, keys)

    def provider(self, name: str) -> Provider:
        if name not in self._providers:
            self._providers[name] = self._make(name)
        return self._providers[name]

    def keys(self, name: str) -> KeyRing:
        if name not in self._rings:
            found = [(env, self._environment.get(env, "").strip()) for env in self._key_names(name)]
            if broken := next((env for env, secret in found if not secret.isprintable()), None):
                raise BadSettings(f"The key in {broken} has a line break or control character in it.")
            self._rings[name] = KeyRing(tuple(Key(env, secret) for env, secret in found if secret))
        return self._rings[name]

    def lacks_key(self, name: str) -> str | None:
        """Say what to do about a missing key, or None where nothing is missing."""
        names = self._key_names(name)
        if names and not self.keys(name):
            return f"No key for {name}: set {' or '.join(names)}."
        known = BUILT_IN.get(name)
        if not names and known is not None and known.key_env and self.base_url(name) != known.base_url:
            return (
                f"No key for {name}: its base_url was changed in moot.toml, and {known.key_env} belongs to "
                f"{urlsplit(known.base_url).hostname}. Name the variable that holds its key in key_env."
            )
        return None

    def base_url(self, name: str) -> str:
        known = BUILT_IN.get(name)
        config = self._configs.get(name, ProviderConfig())
        moved = self._environment.get(known.base_env, "") if known and known.base_env else ""
        return (config.base_url or moved or (known.base_url if known else "")).rstrip("/")

    def cheap_model(self, name: str) -> str | None:
        known = BUILT_IN.get(name)
        return known.cheap if known and known.cheap else None

    def embedded_model(self) -> str:
        gguf = self._configs.get("local", ProviderConfig()).gguf
        return f"local/{Path(gguf).stem if gguf else DEMO}"

    def demo_model(self) -> str | None:
        """Name the embedded model where it is the tiny one, which users are told about."""
        return None if self._configs.get("local", ProviderConfig()).gguf else f"local/{DEMO}"

    def on_this_machine(self, name: str) -> bool:
        """Tell servers that need no key, and so are worth a look on their usual port."""
        known = BUILT_IN.get(name)
        return known is not None and known.on_this_machine and known.api in WIRES

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for provider in self._providers.values():
            await provider.aclose()
        await self._transport.aclose()

    def _key_names(self, name: str) -> tuple[str, ...]:
        """Name the variables whose keys may be sent to this provider's address.

        A well-known variable belongs to its owner's address. A settings file may not send it elsewhere: the
        file may have come with a folder somebody else made.
        """
        known = BUILT_IN.get(name)
        config = self._configs.get(name, ProviderConfig())
        names = config.key_names or ((known.key_env,) if known and known.key_env else ())
        owned = {b.key_env: self._origins(b) for b in BUILT_IN.values() if b.key_env}
        origin = _origin(self.base_url(name))
        return tuple(n for n in names if n not in owned or origin in owned[n])

    def _origins(self, known: BuiltIn) -> set[str]:
        """Tell where a well-known key may go: to its owner, and where the environment says its owner is."""
        moved = self._environment.get(known.base_env, "") if known.base_env else ""
        return {_origin(known.base_url), _origin(moved)}

    def _make(self, name: str) -> Provider:
        known = BUILT_IN.get(name)
        config = self._configs.get(name, ProviderConfig())
        api = config.api or (known.api if known else None)
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
            raise BadSettings(f"[providers.{name}] needs a base_url that begins with http:// or https://.")
        return HttpProvider(
            name, WIRES[api](), base_url, self._transport, free=bool(known and known.on_this_machine)
        )

    def _unknown(self, name: str, provider: str) -> str:
        if provider in list(self):
            return f"{name!r} names no model: write {provider}/MODEL. `moot models` lists them."
        near = get_close_matches(provider, list(self), n=1, cutoff=0.75)
        hint = f"Did you mean {near[0]}/…?" if near else f"Providers are: {', '.join(self)}."
        return f"Unknown model {name!r}: a model is written provider/model. {hint}"


def _origin(url: str) -> str:
    """Return scheme and host of an address that can be asked, else nothing."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if known else ""
