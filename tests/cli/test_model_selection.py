import asyncio

from moot.providers import registry
from moot.providers.scripted.scripts import Script
from tests.support.moot_process import MootCli, usage_error_text
from tests.support.provider_turns import API_KEY, ProviderServerSetup


def extend_local_server_timeout() -> None:
    """Give servers on this machine time to answer, in the process of `moot`."""
    registry.LOCAL_SERVER_TIMEOUT_SECONDS = 60.0


class TestDefaultModel:
    def test_embedded_model_is_used_and_announced_without_keys(self, moot: MootCli) -> None:
        done = moot("ask", "Say hello", "--max-tokens", "8")
        assert done.returncode == 0
        assert done.stdout.strip()
        assert done.stderr.startswith("moot: using local/smollm2, ")
        assert done.stderr.count("a tiny demonstration model") == 1

    def test_model_from_settings_is_used_without_notice(self, moot: MootCli) -> None:
        moot.write_file("moot.toml", 'model = "scripted/echo"')
        done = moot("ask", "hi", OPENAI_API_KEY=API_KEY)
        assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n", "")

    async def test_model_with_available_key_is_used(self, moot: MootCli, provider_server: ProviderServerSetup) -> None:
        provider_server.add_scripts(**{"gpt-5-mini": Script(answer="I am {model}.")})
        done = await asyncio.to_thread(
            moot,
            "ask",
            "hi",
            OPENAI_API_KEY=API_KEY,
            OPENAI_BASE_URL=f"{provider_server.url}/v1",
            OLLAMA_BASE_URL=f"{provider_server.url}/v1",
        )
        assert (done.returncode, done.stdout) == (0, "I am gpt-5-mini.\n")
        assert done.stderr == (
            "moot: using openai/gpt-5-mini, because its key is set. Choose with -m provider/model.\n"
        )
        assert [call.key for call in provider_server.fake_server.received_requests] == [API_KEY]

    async def test_model_of_local_server_is_used(self, moot: MootCli, provider_server: ProviderServerSetup) -> None:
        moot.prepare = extend_local_server_timeout
        done = await asyncio.to_thread(moot, "ask", "hi", OLLAMA_BASE_URL=f"{provider_server.url}/v1")
        assert (done.returncode, done.stdout) == (0, "hi\n")
        assert done.stderr == ("moot: using ollama/echo, found on this machine. Choose with -m provider/model.\n")


def test_fallback_replaces_model_without_key(moot: MootCli) -> None:
    moot.write_file("moot.toml", '[fallback]\n"openai/gpt-5" = ["google/x", "scripted/echo"]')
    done = moot("ask", "hi", "-m", "openai/gpt-5")
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert done.stderr == "moot: No key for openai: set OPENAI_API_KEY. Using scripted/echo instead.\n"


def test_model_error_names_settings_as_its_source(moot: MootCli) -> None:
    moot.write_file("moot.toml", 'model = "scripted/ehco"\n[fallback]\n"scripted/echo" = ["nosuch/x"]')
    assert usage_error_text(moot("ask", "hi")).endswith("The settings name it as model.")
    assert 'The settings name it as the fallback of "scripted/echo"' in usage_error_text(
        moot("ask", "hi", "-m", "scripted/echo")
    )


def test_file_is_sent_when_only_fallback_cannot_read_it(moot: MootCli) -> None:
    (moot.folder / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\n rest")
    moot.write_file("moot.toml", '[fallback]\n"scripted/echo" = ["local/smollm2"]')
    assert moot("ask", "hi", "-m", "scripted/echo", "-f", "dot.png").stdout == "hi\n"
