import asyncio

import pytest

from moot.providers import registry
from moot.providers.catalog import BUILT_IN_PROVIDERS, ProviderConfig
from moot.providers.http_provider import HttpProvider
from moot.providers.keys import Key
from moot.providers.local import LocalProvider
from moot.providers.registry import Registry
from moot.providers.scripted.provider import ScriptedProvider
from moot.providers.scripted.scripts import Scripts
from moot.types.chunks import Usage
from moot.types.errors import BadSettings, MissingKey, ProviderError, UnknownModel
from moot.types.faults import make_fault
from tests.support.provider_turns import API_KEY, ProviderServerSetup

LAB_CONFIG = ProviderConfig(api="openai", base_url="http://127.0.0.1:9999/v1", key_env="LAB_KEY")


def make_registry(environment: dict[str, str] | None = None, **configs: ProviderConfig) -> Registry:
    return Registry(configs, environment or {})


def test_resolve_model_accepts_slashes_in_model_name() -> None:
    resolved = make_registry({"OPENROUTER_API_KEY": "k"}).resolve_model("openrouter/vendor/model:free")
    assert (resolved.provider.name, resolved.model) == ("openrouter", "vendor/model:free")


def test_resolve_model_uses_configured_provider_and_key() -> None:
    resolved = make_registry({"LAB_KEY": "k"}, lab=LAB_CONFIG).resolve_model("lab/echo")
    assert isinstance(resolved.provider, HttpProvider)
    assert resolved.provider.base_url == "http://127.0.0.1:9999/v1"
    key = resolved.keys.select_key(set())
    assert key is not None
    assert (key.source, key.secret) == ("LAB_KEY", "k")


def test_server_keys_have_every_configured_variable_that_is_set() -> None:
    many = ProviderConfig(api="openai", base_url="http://127.0.0.1:1/v1", key_env=("A_KEY", "B_KEY", "C_KEY"))
    keys = make_registry({"A_KEY": "a", "C_KEY": "c"}, lab=many).server_keys("lab")
    first = keys.select_key(set())
    assert first is not None
    assert keys.select_key({first.source}) is not None
    assert keys.select_key({"A_KEY", "C_KEY"}) is None


def test_environment_overrides_base_url_of_built_in_provider() -> None:
    moved = make_registry({"OPENAI_BASE_URL": "http://gateway.example/v1/", "OPENAI_API_KEY": "k"})
    assert moved.provider_base_url("openai") == "http://gateway.example/v1"
    assert moved.resolve_model("openai/gpt-5").keys


def test_missing_key_error_names_variable() -> None:
    with pytest.raises(MissingKey, match="ANTHROPIC_API_KEY"):
        make_registry().resolve_model("anthropic/claude-x")
    with pytest.raises(MissingKey, match="LAB_KEY"):
        make_registry({"LAB_KEY": "  "}, lab=LAB_CONFIG).resolve_model("lab/echo")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("antropic/claude", "Did you mean anthropic/"),
        ("gpt-5", "provider/model"),
        ("openai/", "has no model name"),
        ("zzz/x", "Providers are: anthropic"),
        ("", "provider/model"),
    ],
)
def test_unknown_model_error_suggests_provider(name: str, words: str) -> None:
    with pytest.raises(UnknownModel, match=words):
        make_registry().resolve_model(name)


def test_unavailable_reason_is_given_only_for_known_models() -> None:
    registry = make_registry()
    assert registry.unavailable_reason("scripted/echo") is None
    assert registry.unavailable_reason("openai/gpt-5") == "No key for openai: set OPENAI_API_KEY."
    with pytest.raises(UnknownModel):
        registry.unavailable_reason("nobody/none")


def test_find_profile_returns_none_without_provider() -> None:
    registry = make_registry(broken=ProviderConfig())
    assert registry.find_profile("openai/gpt-5") == registry.get_provider("openai").model_profile("gpt-5")
    assert registry.find_profile("nobody/none") is None
    assert registry.find_profile("broken/none") is None


def test_built_in_key_is_never_sent_to_another_host() -> None:
    environment = {"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "a"}
    evil = "http://evil.example/v1"
    moved = make_registry(environment, openai=ProviderConfig(base_url=evil))
    with pytest.raises(MissingKey, match=r"belongs to api\.openai\.com"):
        moved.resolve_model("openai/gpt-5")
    named = ProviderConfig(api="openai", base_url=evil, key_env=("OPENAI_API_KEY", "ANTHROPIC_API_KEY"))
    assert not make_registry(environment, evil=named).server_keys("evil")
    same_host = ProviderConfig(api="openai", base_url="https://api.openai.com/v2", key_env="OPENAI_API_KEY")
    assert make_registry(environment, newer=same_host).server_keys("newer")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (ProviderConfig(base_url="http://x/v1"), "api"),
        (ProviderConfig(api="openai"), "base_url"),
        (ProviderConfig(api="openai", base_url="ftp://x"), "http://"),
    ],
)
def test_invalid_provider_config_error_names_field(config: ProviderConfig, words: str) -> None:
    with pytest.raises(BadSettings, match=words):
        make_registry(mine=config).resolve_model("mine/x")


@pytest.mark.parametrize(
    ("environment", "url"),
    [
        ({"ANTHROPIC_BASE_URL": "http://gateway.example"}, "http://gateway.example/v1"),
        ({"ANTHROPIC_BASE_URL": "http://gateway.example/anthropic"}, "http://gateway.example/anthropic"),
        ({}, "https://api.anthropic.com/v1"),
    ],
)
def test_base_url_without_path_gets_api_version(environment: dict[str, str], url: str) -> None:
    assert make_registry(environment).provider_base_url("anthropic") == url


def test_only_private_base_urls_are_free() -> None:
    near = make_registry({"OLLAMA_BASE_URL": "http://192.168.1.5:11434"}).get_provider("ollama")
    far = make_registry({"VLLM_BASE_URL": "https://api.openai.com/v1"}).get_provider("vllm")
    assert near.call_cost_usd("x", Usage(1000, 1000)) == 0.0
    assert (far.call_cost_usd("gpt-4o-mini", Usage(1000, 1000)) or 0) > 0


def test_port_and_case_do_not_change_host_of_key() -> None:
    same = ProviderConfig(api="openai", base_url="https://API.openai.com:443/v1", key_env="OPENAI_API_KEY")
    assert make_registry({"OPENAI_API_KEY": "k"}, again=same).server_keys("again")


def test_built_in_key_is_not_used_for_another_provider() -> None:
    config = ProviderConfig(key_env="ANTHROPIC_API_KEY")
    assert not make_registry({"ANTHROPIC_API_KEY": "a"}, openrouter=config).server_keys("openrouter")


def test_invalid_key_is_ignored_and_never_quoted() -> None:
    broken = make_registry({"LAB_KEY": "two\nlines", "OPENAI_API_KEY": "k"}, lab=LAB_CONFIG)
    assert not broken.server_keys("lab")
    for words in (broken.invalid_key_message("lab"), broken.missing_key_message("lab")):
        assert str(words).startswith("The key in LAB_KEY has a line break")
        assert "two" not in str(words)
    with pytest.raises(MissingKey, match="LAB_KEY has a line break"):
        broken.resolve_model("lab/echo")
    assert broken.resolve_model("lab/echo", Key("mine", "own")).keys, "others do not need it"
    assert broken.resolve_model("openai/gpt-5").keys
    assert broken.invalid_key_message("openai") is None


def test_valid_keys_are_used_beside_invalid_key() -> None:
    many = ProviderConfig(api="openai", base_url="http://127.0.0.1:1/v1", key_env=("A_KEY", "B_KEY"))
    known = make_registry({"A_KEY": "two\nlines", "B_KEY": "b"}, lab=many)
    key = known.server_keys("lab").select_key(set())
    assert key is not None
    assert key.source == "B_KEY"
    assert known.missing_key_message("lab") is None
    assert "A_KEY" in str(known.invalid_key_message("lab"))


async def test_list_models_returns_models_of_provider(provider_server: ProviderServerSetup) -> None:
    near = ProviderConfig(api="openai", base_url=f"{provider_server.url}/v1", key_env="LAB_KEY")
    async with make_registry({"LAB_KEY": API_KEY}, lab=near) as known:
        assert "echo" in await known.list_models("lab", 30.0)
    async with make_registry(lab=near) as known:
        assert "echo" in await known.list_models("lab", 30.0, Key("mine", API_KEY))
        with pytest.raises(MissingKey, match="LAB_KEY"):
            await known.list_models("lab", 30.0)


async def test_list_models_times_out() -> None:
    class Silent(ScriptedProvider):
        async def list_models(self, key: str | None = None) -> list[str]:
            await asyncio.Event().wait()
            return []

    known = make_registry()
    known._providers["scripted"] = Silent(Scripts())
    with pytest.raises(ProviderError, match=r"scripted did not answer within 0\.01 s") as caught:
        await known.list_models("scripted", 0.01)
    assert caught.value.fault.kind == "timeout"


def test_every_built_in_provider_can_be_created() -> None:
    for name in make_registry():
        assert make_registry().get_provider(name).name == name


def test_local_provider_uses_configured_gguf_file() -> None:
    mine = make_registry(local=ProviderConfig(gguf="/models/tiny-q4.gguf"))
    provider = mine.get_provider("local")
    assert isinstance(provider, LocalProvider)
    assert provider.model_name == "tiny-q4"
    assert mine.embedded_model() == "local/tiny-q4"
    assert mine.demo_model() is None
    assert make_registry().demo_model() == make_registry().embedded_model() == "local/smollm2"


def test_local_servers_need_no_key() -> None:
    assert [name for name in BUILT_IN_PROVIDERS if make_registry().is_local_server(name)] == [
        "ollama",
        "lmstudio",
        "llamacpp",
        "vllm",
    ]
    assert make_registry().missing_key_message("ollama") is None
    assert make_registry().cheap_model("openai")
    assert make_registry().cheap_model("local") is None


async def test_list_local_models_asks_servers_that_answer(
    provider_server: ProviderServerSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "LOCAL_SERVER_TIMEOUT_SECONDS", 60.0)
    silent = {f"{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("LMSTUDIO", "LLAMACPP", "VLLM")}
    async with make_registry({"OLLAMA_BASE_URL": f"{provider_server.url}/v1", **silent}) as served:
        found = await served.list_local_models()
    assert "ollama/echo" in found
    assert {name.partition("/")[0] for name in found} == {"ollama"}


def test_tenant_key_replaces_server_key() -> None:
    served = make_registry({"LAB_KEY": "server"}, lab=LAB_CONFIG)
    own = served.resolve_model("lab/echo", Key("the key you stored", "own")).keys.select_key(set())
    assert own is not None
    assert (own.source, own.secret) == ("the key you stored", "own")
    server = served.resolve_model("lab/echo").keys.select_key(set())
    assert server is not None
    assert server.secret == "server"
    assert make_registry(lab=LAB_CONFIG).resolve_model("lab/echo", Key("mine", "own")).keys


def test_tenant_key_cooldown_persists_between_calls() -> None:
    served = make_registry(lab=LAB_CONFIG, other=LAB_CONFIG)
    first = served.resolve_model("lab/echo", Key("mine", "own")).keys
    key = first.select_key(set())
    assert key is not None
    first.cool_down(key, make_fault("rate_limit", "slow"))
    again = served.resolve_model("lab/echo", Key("mine", "own")).keys.select_key(set())
    assert again is key
    assert again.cooldown_until > 0
    for model, secret in (("lab/echo", "changed"), ("other/echo", "own")):
        fresh = served.resolve_model(model, Key("mine", secret)).keys.select_key(set())
        assert fresh is not None
        assert (fresh.secret, fresh.cooldown_until) == (secret, 0.0)


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("openai", "https://api.openai.com"),
        ("ollama", "http://127.0.0.1:11434"),
        ("six", "http://[::1]:8080"),
        ("userinfo", "https://host.example"),
        ("local", ""),
        ("broken", ""),
    ],
)
def test_provider_origin_has_scheme_host_and_port_only(name: str, origin: str) -> None:
    known = make_registry(
        six=ProviderConfig(api="openai", base_url="http://[::1]:8080/v1"),
        userinfo=ProviderConfig(api="openai", base_url="https://me:secret@HOST.example:443/v1"),
        broken=ProviderConfig(api="openai", base_url="ftp://x"),
    )
    assert known.provider_origin(name) == origin


def test_registry_reports_api_and_key_support() -> None:
    known = make_registry(lab=LAB_CONFIG, bare=ProviderConfig(base_url="http://127.0.0.1:9/v1"))
    assert [known.provider_api(name) for name in ("lab", "google", "local", "bare")] == [
        "openai",
        "google",
        "local",
        None,
    ]
    assert [known.takes_key(name) for name in ("lab", "openai", "ollama", "bare")] == [
        True,
        True,
        False,
        False,
    ]
    assert known.sendable_key_variables("openai") == ("OPENAI_API_KEY",)


def test_missing_key_message_mentions_stored_keys_only_when_enabled() -> None:
    asked = make_registry(lab=LAB_CONFIG)
    assert asked.missing_key_message("lab") == "No key for lab: set LAB_KEY."
    served = Registry({"lab": LAB_CONFIG, "openai": ProviderConfig(base_url="http://x.example")}, {}, stored_keys=True)
    own = "or store one of your own with PUT /api/keys/"
    assert served.missing_key_message("lab") == f"No key for lab: set LAB_KEY, {own}lab."
    assert str(served.missing_key_message("openai")).endswith(f"[providers.openai], {own}openai.")
