"""Settings: `moot.toml` files and `MOOT_*` variables, read once and passed on as values."""

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
ENVIRONMENT_VARIABLES = {  # as MOOT_…, and what they must be
    "model": "a model",
    "database_url": "an address",
    "auth": "`local` or `accounts`",
    "lease": "a number of seconds from 1 to 600",
    "embedding": "a model",
    "clerk": "a model",
    "metrics_token": "at least 16 characters long",
    "budget": "a number of US dollars, 0 or more",
}
LIST_VARIABLES = ("hosts", "line_up")  # as MOOT_…, with commas between
PATH_SETTINGS = ("gguf", "script")  # provider settings that name a file, relative to the settings file


Rate = Annotated[int, Meta(ge=1)]


class RateSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How often an account may do something; a burst is how much of it may come at once.

    `starts` are calls that let providers be asked and are no messages: lists of models, exports, consolidations,
    searches by meaning, and what is to be tried again. `model_calls` are all calls of models, whoever they are for.
    """

    calls_a_minute: Rate = 600
    starts_a_minute: Rate = 60
    messages_a_minute: Rate = 10
    messages_burst: Rate = 3
    debates_a_minute: Rate = 5
    debates_burst: Rate = 1
    model_calls_a_minute: Rate = 1000


class DiscordSettings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The bot of `moot discord`: its `token`, and the account (`user`) that owns and pays what is discussed there.

    `thoughts` is the id of a channel in which thoughts are told, `degree` how answers are delivered: gathered (0), a
    message a paragraph (1), with typing between them (2), or a sentence at a time, as people write (3). With a
    `guard` an answer is told no further than to where it goes on in the name of somebody else at the table.
    """

    token: str | None = None
    user: str | None = None
    thoughts: Annotated[str, Meta(pattern=r"^\d{1,20}$")] | None = None
    degree: Literal[0, 1, 2, 3] = 1
    guard: bool = False


class Settings(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`model` is asked when none is named, `line_up` where a table is not named; `fallback` when a model fails.

    `limits` are those of one answer: seconds without content, seconds in all, characters. The rest is for
    `moot serve`: `lease` is how many seconds a silent worker keeps its runs, `hosts` are names it is reached by,
    `embedding` is a model that makes vectors of what is searched, `clerk` a cheap one that finds titles and keeps
    minutes where a discussion names none, `tools` are servers of tools, and with `private_tool_servers` those that users
    name may be in a private network; `metrics_token` lets Prometheus in, `budget` is what an account that has none of its own may spend in a week, in US dollars; `discord` is the bot of `moot discord`.
    """

    model: str | None = None
    line_up: Annotated[tuple[str, ...], Meta(max_length=24)] = ()
    providers: dict[str, ProviderConfig] = {}
    fallback: dict[str, tuple[str, ...]] = {}
    limits: Limits = Limits()
    database_url: str | None = None
    auth: Literal["local", "accounts"] | None = None
    lease: Annotated[float, Meta(ge=1, le=600)] = 10.0
    hosts: tuple[str, ...] = ()
    embedding: str | None = None
    clerk: str | None = None
    rates: RateSettings = RateSettings()
    metrics_token: Annotated[str, Meta(min_length=16)] | None = None
    budget: UsdAmount | None = None
    discord: DiscordSettings = DiscordSettings()
    tools: dict[str, ServerConfig] = {}
    private_tool_servers: bool = False

    @property
    def database_address(self) -> str:
        """The address of the database: a file in the user's data folder, unless another is named."""
        return self.database_url or f"sqlite:///{data_folder() / 'moot.db'}"


def load_settings(config: Path | None, environment: Mapping[str, str]) -> Settings:
    """Merge the environment and every settings file; what comes first counts."""
    merged: dict[str, Any] = _from_environment(environment)
    for path in _settings_files(config):
        tables = _read_settings_file(path)
        servers = {**tables.pop("tools", {}), **merged.pop("tools", {})}  # each comes whole from one file
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
    """Check one variable by itself, so that an error can name it."""
    try:
        msgspec.convert({name: value}, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise BadSettings(f"MOOT_{name.upper()} must be {ENVIRONMENT_VARIABLES[name]}.") from error


def _read_settings_file(path: Path) -> dict[str, Any]:
    """Read one file and check it by itself, so that an error can name it."""
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
        _check_tables(tables)
    except OSError as error:
        raise BadSettings(f"Cannot read the settings {path}: {error.strerror}.") from error
    except (ValueError, msgspec.ValidationError) as error:
        raise BadSettings(f"The settings {path} are not right: {error}.") from error
    for table in tables.get("providers", {}).values():
        for name in PATH_SETTINGS:
            if name in table:
                table[name] = str(path.parent / Path(table[name]).expanduser())
    return tables


def _check_tables(tables: dict[str, Any]) -> None:
    providers = tables.get("providers", {})
    for name, table in providers.items() if isinstance(providers, dict) else ():
        if isinstance(table, dict) and {"key", "api_key"} & table.keys():
            raise ValueError(f"[providers.{name}]: keys are not written here; name a variable in key_env")
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
            f"[tools.{name}]: name it with up to 32 small letters, digits, - and _, and not {BUILTIN_SERVER_NAME}"
        )
    if bool(server.command) == bool(server.url):
        raise ValueError(f"[tools.{name}]: give it either a command or a url")


def _merge_missing(target: dict[str, Any], defaults: dict[str, Any]) -> None:
    """Add what is not set yet; an address and the key for it come from one file, or not at all."""
    bound = {"base_url", "key_env"} if {"base_url", "key_env"} & target.keys() else set()
    for name, value in defaults.items():
        if name in bound:
            continue
        if isinstance(value, dict) and isinstance(target.get(name), dict):
            _merge_missing(target[name], value)
        else:
            target.setdefault(name, value)
