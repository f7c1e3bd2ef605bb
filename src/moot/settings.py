"""Settings from `moot.toml` files and `MOOT_*` environment variables, parsed once at startup."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import platformdirs
from msgspec import Meta, Struct

from moot.providers.catalog import ProviderConfig
from moot.streaming.turn_stream import Limits
from moot.tools.config import ServerConfig
from moot.types.billing import UsdAmount
from moot.types.errors import BadSettings
from moot.types.tools import BUILTIN_SERVER_NAME, is_server_name

SETTINGS_FILE = "moot.toml"
ENVIRONMENT_VARIABLES = {  # settings with a MOOT_… variable: valid values, for error messages
    "model": "a model",
    "database_url": "an address",
    "auth": "`local` or `accounts`",
    "worker_lease_seconds": "a number of seconds from 1 to 600",
    "embedding_model": "a model",
    "task_model": "a model",
    "metrics_token": "at least 16 characters long",
    "weekly_budget_usd": "a number of US dollars, 0 or more",
}
LIST_VARIABLES = ("allowed_hosts", "participants")  # settings with a MOOT_… variable that holds a comma-separated list
PATH_SETTINGS = ("gguf", "script")  # provider fields with a path, relative to the settings file

Rate = Annotated[int, Meta(ge=1)]


class RateSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rate limits per account. A burst is the number of requests that may arrive at once."""

    requests_per_minute: Rate = 600  # all API requests
    # Requests that call providers, except messages: exports, retries, semantic search …
    model_requests_per_minute: Rate = 60
    messages_per_minute: Rate = 10
    messages_burst: Rate = 3
    debates_per_minute: Rate = 5
    debates_burst: Rate = 1
    model_calls_per_minute: Rate = 1000  # model requests of all accounts together


class DiscordSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the bot (`moot discord`)."""

    token: str | None = None  # bot token
    account: str | None = None  # account that owns and pays the bot's discussions
    reasoning_channel: Annotated[str, Meta(pattern=r"^\d{1,20}$")] | None = None  # id of the channel for reasoning text
    # Messages of an answer: one, one per paragraph, the same with typing pauses, one per sentence.
    delivery: Literal["whole", "paragraphs", "typing", "sentences"] = "paragraphs"
    block_impersonation: bool = False  # cut off an answer where the model starts to speak as another participant


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All settings. Fields below `limits` are for `moot serve` and `moot discord`."""

    model: str | None = None  # default model
    participants: Annotated[tuple[str, ...], Meta(max_length=24)] = ()  # models of the default participants
    providers: dict[str, ProviderConfig] = {}
    fallback: dict[str, tuple[str, ...]] = {}  # by model: models for retries when its requests fail
    limits: Limits = Limits()  # timeouts and maximum length of one response
    database_url: str | None = None
    auth: Literal["local", "accounts"] | None = None
    # Seconds without heartbeat until other workers take over the runs of a worker.
    worker_lease_seconds: Annotated[float, Meta(ge=1, le=600)] = 10.0
    allowed_hosts: tuple[str, ...] = ()  # allowed values of the Host header
    embedding_model: str | None = None  # model for semantic search
    task_model: str | None = None  # default task model, for titles and analysis tasks
    rates: RateSettings = RateSettings()
    metrics_token: Annotated[str, Meta(min_length=16)] | None = None  # bearer token for `/metrics`
    weekly_budget_usd: UsdAmount | None = None  # default weekly budget of an account in US dollars
    discord: DiscordSettings = DiscordSettings()
    tools: dict[str, ServerConfig] = {}
    private_tool_servers: bool = False  # users may add tool servers with private IP addresses

    @property
    def database_address(self) -> str:
        """`database_url`, or by default an SQLite file in the user's data folder."""
        return self.database_url or f"sqlite:///{data_folder() / 'moot.db'}"


def load_settings(config: Path | None, environment: Mapping[str, str]) -> Settings:
    """Merge all sources and raise BadSettings on errors.

    Order, the first value wins: environment, `config`, working directory, user config folder.
    """
    merged: dict[str, Any] = _from_environment(environment)
    for path in _settings_files(config):
        tables = _read_settings_file(path)
        servers = tables.pop("tools", {}) | merged.pop("tools", {})  # never merge fields of one server from two files
        _merge_missing(merged, tables)
        merged["tools"] = servers
    return msgspec.convert(merged, Settings, strict=False)


def data_folder() -> Path:
    return platformdirs.user_data_path("moot")


def _settings_files(config: Path | None) -> Iterator[Path]:
    if config is not None:
        yield config
    for folder in (Path.cwd(), platformdirs.user_config_path("moot")):
        if (folder / SETTINGS_FILE).is_file():
            yield folder / SETTINGS_FILE


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for name in ENVIRONMENT_VARIABLES:
        if value := environment.get(f"MOOT_{name.upper()}"):
            settings[name] = value
            _check_variable(name, value)
    if gguf := environment.get("MOOT_GGUF"):
        settings["providers"] = {"local": {"gguf": gguf}}
    if token := environment.get("MOOT_DISCORD_TOKEN"):
        settings["discord"] = {"token": token}
    for name in LIST_VARIABLES:
        if listed := environment.get(f"MOOT_{name.upper()}"):
            settings[name] = [one.strip() for one in listed.split(",") if one.strip()]
    return settings


def _check_variable(name: str, value: str) -> None:
    """Validate a single value, because the error of a full parse does not name the variable."""
    try:
        msgspec.convert({name: value}, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadSettings(f"MOOT_{name.upper()} must be {ENVIRONMENT_VARIABLES[name]}.") from error


def _read_settings_file(path: Path) -> dict[str, Any]:
    """Parse and validate a single file, so that the error message names its path."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        _check_tables(tables)
    except OSError as error:
        raise BadSettings(f"Cannot read the settings {path}: {error.strerror}.") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise BadSettings(f"The settings file {path} is invalid: {error}.") from error
    for table in tables.get("providers", {}).values():
        for name in PATH_SETTINGS:
            if name in table:
                table[name] = str(path.parent / Path(table[name]).expanduser())
    return tables


def _check_tables(tables: dict[str, Any]) -> None:
    providers = tables.get("providers", {})
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict) and {"key", "api_key"} & table.keys():
            raise ValueError(
                f"[providers.{name}]: a key must not be in this file. Name its environment variable in key_env"
            )
        try:
            msgspec.convert(table, ProviderConfig)
        except msgspec.ValidationError as error:
            raise ValueError(f"[providers.{name}]: {error}") from error
    servers = tables.get("tools", {})
    for name, table in servers.items() if isinstance(servers, dict) else ():
        try:
            _check_server(name, msgspec.convert(table, ServerConfig))
        except msgspec.ValidationError as error:
            raise ValueError(f"[tools.{name}]: {error}") from error
    msgspec.convert(tables, Settings)


def _check_server(name: str, server: ServerConfig) -> None:
    if name == BUILTIN_SERVER_NAME or not is_server_name(name):
        raise ValueError(
            f"[tools.{name}]: the name must have up to 32 lower-case letters, digits, - and _, and not be {BUILTIN_SERVER_NAME}"
        )
    if bool(server.command) == bool(server.url):
        raise ValueError(f"[tools.{name}]: it must have either a command or a url. Set one of them")


def _merge_missing(target: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Set missing keys recursively.

    `base_url` and `key_env` come from the same file. Merged from two files, a key could go to a foreign server.
    """
    bound = {"base_url", "key_env"} if {"base_url", "key_env"} & target.keys() else set()
    for name, value in defaults.items():
        if name in bound:
            continue
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            _merge_missing(target[name], value)
        else:
            target.setdefault(name, value)
