import asyncio

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS
from tests.support.moot_process import UNREACHABLE_URL, MootCli, usage_error_text
from tests.support.provider_turns import API_KEY, ProviderServerSetup

SCRIPTED_MODELS = sorted(f"scripted/{name}" for name, script in BUILT_IN_SCRIPTS.items() if not script.fault)


def test_models_lists_embedded_and_scripted_models_without_keys(moot: MootCli) -> None:
    done = moot("models")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["local/smollm2", *SCRIPTED_MODELS]


def test_models_lists_one_provider(moot: MootCli) -> None:
    assert moot("models", "scripted").stdout.splitlines() == SCRIPTED_MODELS


async def test_models_finds_local_server(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    done = await asyncio.to_thread(moot, "models", OLLAMA_BASE_URL=f"{provider_server.url}/v1")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("ollama/")] == [
        f"ollama/{name}" for name in sorted(BUILT_IN_SCRIPTS)
    ]


async def test_models_lists_models_in_every_wire_format(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    table = '[providers.{0}]\napi = "{0}"\nbase_url = "{1}"\nkey_env = "LAB_API_KEY"\n'
    base_paths = {"openai": "v1", "anthropic": "v1", "google": "v1beta"}
    moot.write_file(
        "moot.toml",
        "".join(table.format(api, f"{provider_server.url}/{path}") for api, path in base_paths.items()),
    )
    done = await asyncio.to_thread(moot, "models", LAB_API_KEY=API_KEY)
    assert {"openai/echo", "anthropic/echo", "google/echo"} <= set(done.stdout.splitlines())


def test_models_names_missing_key_of_provider(moot: MootCli) -> None:
    assert usage_error_text(moot("models", "openai")) == "No key for openai: set OPENAI_API_KEY."


def test_models_fails_when_requested_provider_is_unreachable(moot: MootCli) -> None:
    done = moot("models", "ollama")
    assert (done.returncode, done.stdout) == (1, "")
    assert "moot: Cannot connect to ollama at 127.0.0.1:1. Is it running?\n" in done.stderr


def test_models_lists_others_when_one_provider_is_unreachable(moot: MootCli) -> None:
    moot.write_file(
        "moot.toml",
        f'[providers.mine]\napi = "openai"\nbase_url = "{UNREACHABLE_URL}"\nkey_env = "MINE_API_KEY"',
    )
    done = moot("models", MINE_API_KEY=API_KEY)
    assert done.returncode == 0
    assert "scripted/echo" in done.stdout
    assert done.stderr == "moot: Cannot connect to mine at 127.0.0.1:1. Is it running?\n"


def test_models_lists_others_when_one_key_is_malformed(moot: MootCli) -> None:
    done = moot("models", OPENAI_API_KEY="two\nlines")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["local/smollm2", *SCRIPTED_MODELS])
    assert usage_error_text(moot("models", "openai", OPENAI_API_KEY="two\nlines")) == (
        "The key in OPENAI_API_KEY has a line break or control character in it. Set it again."
    )


def test_models_rejects_unknown_provider(moot: MootCli) -> None:
    error = usage_error_text(moot("models", "parrot"))
    assert error.startswith("There is no provider 'parrot'. Choose one of anthropic, openai")
