import asyncio

from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS
from tests.cli.process import UNREACHABLE_URL, MootCli, usage_error_text
from tests.taking import API_KEY, ProviderServerSetup

SCRIPTED_MODELS = sorted(f"scripted/{name}" for name, script in BUILT_IN_SCRIPTS.items() if not script.fault)


def test_without_keys_there_are_the_embedded_model_and_the_scripts(moot: MootCli) -> None:
    done = moot("models")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["local/smollm2", *SCRIPTED_MODELS]


def test_the_models_of_one_provider(moot: MootCli) -> None:
    assert moot("models", "scripted").stdout.splitlines() == SCRIPTED_MODELS


async def test_a_server_on_this_machine_is_found(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    done = await asyncio.to_thread(moot, "models", OLLAMA_BASE_URL=f"{provider_server.url}/v1")
    assert done.returncode == 0
    assert [line for line in done.stdout.splitlines() if line.startswith("ollama/")] == [
        f"ollama/{name}" for name in sorted(BUILT_IN_SCRIPTS)
    ]


async def test_every_wire_format_can_list_its_models(
    moot: MootCli, provider_server: ProviderServerSetup
) -> None:
    table = '[providers.{0}]\napi = "{0}"\nbase_url = "{1}"\nkey_env = "LAB_API_KEY"\n'
    wires = {"openai": "v1", "anthropic": "v1", "google": "v1beta"}
    moot.write_file(
        "moot.toml",
        "".join(table.format(api, f"{provider_server.url}/{path}") for api, path in wires.items()),
    )
    done = await asyncio.to_thread(moot, "models", LAB_API_KEY=API_KEY)
    assert {"openai/echo", "anthropic/echo", "google/echo"} <= set(done.stdout.splitlines())


def test_a_provider_that_lacks_a_key_says_which(moot: MootCli) -> None:
    assert usage_error_text(moot("models", "openai")) == "No key for openai: set OPENAI_API_KEY."


def test_a_provider_that_was_asked_for_and_is_silent_is_told(moot: MootCli) -> None:
    done = moot("models", "ollama")
    assert (done.returncode, done.stdout) == (1, "")
    assert "moot: Nothing answers for ollama at 127.0.0.1:1: is it running?\n" in done.stderr


def test_one_silent_provider_does_not_hide_the_others(moot: MootCli) -> None:
    moot.write_file(
        "moot.toml",
        f'[providers.mine]\napi = "openai"\nbase_url = "{UNREACHABLE_URL}"\nkey_env = "MINE_API_KEY"',
    )
    done = moot("models", MINE_API_KEY=API_KEY)
    assert done.returncode == 0
    assert "scripted/echo" in done.stdout
    assert done.stderr == "moot: Nothing answers for mine at 127.0.0.1:1: is it running?\n"


def test_one_key_that_cannot_be_one_does_not_hide_the_others(moot: MootCli) -> None:
    done = moot("models", OPENAI_API_KEY="two\nlines")
    assert (done.returncode, done.stdout.splitlines()) == (0, ["local/smollm2", *SCRIPTED_MODELS])
    assert usage_error_text(moot("models", "openai", OPENAI_API_KEY="two\nlines")) == (
        "The key in OPENAI_API_KEY has a line break or control character in it. Set it anew."
    )


def test_a_provider_that_does_not_exist_is_a_slip(moot: MootCli) -> None:
    said = usage_error_text(moot("models", "parrot"))
    assert said.startswith("There is no provider 'parrot'. Providers are: anthropic, openai")
