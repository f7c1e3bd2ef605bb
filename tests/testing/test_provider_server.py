import aiohttp
import pytest

from moot.providers.catalog import Api
from moot.providers.scripted.scripts import SAMPLE_ANSWER, Script, Scripts
from moot.testing.provider_server import FakeProviderServer, serve_provider
from tests.support.provider_turns import API_KEY, ProviderServerSetup, run_provider_turn


@pytest.mark.parametrize("api", ["openai", "anthropic", "google"])
async def test_fake_provider_server_records_model_key_and_outcome(
    provider_server: ProviderServerSetup, api: Api
) -> None:
    await run_provider_turn(provider_server.create_provider(api), "steady")
    (call,) = provider_server.fake_server.received_requests
    assert (call.model, call.key, call.outcome) == ("steady", API_KEY, "finished")


async def test_fake_provider_server_rejects_invalid_requests(provider_server: ProviderServerSetup) -> None:
    async with aiohttp.ClientSession() as session:
        for body in (b"not json", b"{}", b"[]", b'{"model": "echo", "messages": 7}'):
            async with session.post(f"{provider_server.url}/v1/chat/completions", data=body) as response:
                assert response.status == 400
        async with session.post(f"{provider_server.url}/v1/messages", json={"model": "x", "messages": []}) as response:
            assert response.status == 404


async def test_fake_provider_server_serves_custom_scripts() -> None:
    served = FakeProviderServer(Scripts({"mine": Script(answer="{question}!", chunk_interval_seconds=0.001)}))
    async with serve_provider(served) as url, aiohttp.ClientSession() as session:
        asked = {"model": "mine", "messages": [{"role": "user", "content": "Hm"}]}
        async with session.post(f"{url}/v1/chat/completions", json=asked) as response:
            assert '"content": "Hm!"' in await response.text()


async def test_paced_answer_equals_sample_answer(provider_server: ProviderServerSetup) -> None:
    assert (await run_provider_turn(provider_server.create_provider("openai"), "steady")).result.text == SAMPLE_ANSWER
