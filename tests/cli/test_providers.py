import asyncio
import re
from socket import create_server

import pytest
from inline_snapshot import snapshot

from moot.cli import providers
from moot.providers.registry import Registry
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS
from tests.support.moot_process import UNREACHABLE_URL, MootCli, usage_error_text
from tests.support.provider_turns import API_KEY, ProviderServerSetup

SCRIPTED_MODELS = sorted(f"scripted/{name}" for name, script in BUILT_IN_SCRIPTS.items() if not script.fault)


def parse_provider_checks(output: str) -> dict[str, tuple[str, str]]:
    """Return the mark and the text of each provider."""
    lines = [line.split(maxsplit=2) for line in output.split("\n\n", maxsplit=1)[0].splitlines()]
    return {provider: (mark, words) for mark, provider, words in lines}


def test_doctor_names_missing_keys(moot: MootCli) -> None:
    done = moot("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.sub(r"\b\d+ scripts", "N scripts", done.stdout) == snapshot("""\
· anthropic   No key for anthropic: set ANTHROPIC_API_KEY.
· openai      No key for openai: set OPENAI_API_KEY.
· google      No key for google: set GEMINI_API_KEY.
· openrouter  No key for openrouter: set OPENROUTER_API_KEY.
· groq        No key for groq: set GROQ_API_KEY.
· deepseek    No key for deepseek: set DEEPSEEK_API_KEY.
· mistral     No key for mistral: set MISTRAL_API_KEY.
· ollama      Not running at http://127.0.0.1:1/v1.
· lmstudio    Not running at http://127.0.0.1:1/v1.
· llamacpp    Not running at http://127.0.0.1:1/v1.
· vllm        Not running at http://127.0.0.1:1/v1.
✓ local       Works, runs in this process: a tiny demonstration model (SmolLM2, 135 million parameters): it shows how Moot works, not what models can do.
✓ scripted    Works: N scripts for demonstrations and tests, no real model.

For a real model, set one of the keys above or start Ollama, LM Studio, llama.cpp or vLLM.
Without any: moot ask "Say hello" -m local/smollm2
""")


async def test_doctor_recommends_running_local_server(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    done = await asyncio.to_thread(moot, "doctor", OLLAMA_BASE_URL=f"{provider_server.url}/v1")
    assert done.returncode == 0
    assert parse_provider_checks(done.stdout)["ollama"] == (
        "✓",
        f"Works: {len(BUILT_IN_SCRIPTS)} models (echo, slow, steady, …).",
    )
    assert parse_provider_checks(done.stdout)["vllm"] == ("·", f"Not running at {UNREACHABLE_URL}.")
    assert done.stdout.endswith('Try: moot ask "Say hello" -m ollama/MODEL   (`moot models ollama` lists them)\n')


async def test_doctor_reports_server_without_models(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    provider_server.fake_server.scripts.by_name.clear()
    done = await asyncio.to_thread(moot, "doctor", OLLAMA_BASE_URL=f"{provider_server.url}/v1")
    assert parse_provider_checks(done.stdout)["ollama"] == ("✓", "Works, but has no model yet.")


def test_doctor_reports_malformed_key(moot: MootCli) -> None:
    done = moot("doctor", OPENAI_API_KEY="two\nlines")
    assert done.returncode == 1
    assert parse_provider_checks(done.stdout)["openai"] == (
        "✗",
        "The key in OPENAI_API_KEY has a line break or control character in it.",
    )
    assert parse_provider_checks(done.stdout)["scripted"][0] == "✓"


async def test_check_provider_reports_timeout_of_silent_local_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(providers, "LIST_MODELS_SECONDS", 0.05)
    with create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        async with Registry({}, {"OLLAMA_BASE_URL": url}) as registry:
            finding = await providers.check_provider(registry, "ollama")
    assert finding == providers.ProviderCheck("ollama", "broken", "ollama did not answer within 0.05 s.")


async def test_doctor_reports_cause_of_each_failure(moot: MootCli, provider_server: ProviderServerSetup) -> None:
    moot.write_file(
        "moot.toml",
        f'[providers.away]\napi = "openai"\nbase_url = "{UNREACHABLE_URL}"\n'
        f'[providers.lost]\napi = "openai"\nbase_url = "{provider_server.url}/nowhere"\nkey_env = "LOST_API_KEY"\n'
        "[providers.vague]\n"
        f'[providers.openai]\nbase_url = "{provider_server.url}/v1"\n',
    )
    done = await asyncio.to_thread(moot, "doctor", OPENAI_API_KEY=API_KEY, LOST_API_KEY=API_KEY)
    found = parse_provider_checks(done.stdout)
    assert done.returncode == 1
    assert found["away"] == ("✗", "Cannot connect to away at 127.0.0.1:1. Is it running?")
    assert found["lost"][0] == "✗"
    assert "HTTP 404" in found["lost"][1]
    assert found["vague"] == ("✗", '[providers.vague] needs api = "openai", "anthropic" or "google".')
    assert found["openai"][0] == "·"
    assert "OPENAI_API_KEY belongs to api.openai.com" in found["openai"][1]
    assert API_KEY not in done.stdout + done.stderr


def test_doctor_reports_unknown_fallback_model(moot: MootCli) -> None:
    moot.write_file("moot.toml", '[fallback]\n"scripted/echo" = ["scripted/stedy"]\n')
    done = moot("doctor")
    assert done.returncode == 1
    assert "✗ [fallback]" in done.stdout
    assert "stedy" in done.stdout


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
