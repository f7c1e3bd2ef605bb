import pytest

from moot.providers import discovery
from moot.providers.discovery import find_local_servers
from moot.providers.registry import Registry
from tests.support.provider_turns import ProviderServerSetup


async def test_find_local_servers_lists_servers_that_answer(
    provider_server: ProviderServerSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(discovery, "PROBE_TIMEOUT_SECONDS", 60.0)
    silent = {f"{name}_BASE_URL": "http://127.0.0.1:9/v1" for name in ("LMSTUDIO", "LLAMACPP", "VLLM")}
    async with Registry({}, {"OLLAMA_BASE_URL": f"{provider_server.url}/v1", **silent}) as registry:
        (found,) = await find_local_servers(registry)
    assert (found.provider, found.base_url) == ("ollama", f"{provider_server.url}/v1")
    assert "echo" in found.models
