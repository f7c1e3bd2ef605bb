import aiohttp
import pytest

from moot.providers.catalog import Api
from moot.providers.scripted.scripts import SAMPLE_ANSWER, Script, Scripts
from moot.testing.provider_server import FakeProviderServer, serve_provider
from tests.taking import KEY, LabServer, take


@pytest.mark.parametrize("api", ["openai", "anthropic", "google"])
async def test_it_notes_who_called_with_which_key(lab: LabServer, api: Api) -> None:
    await take(lab.provider(api), "steady")
    (call,) = lab.lab.received_requests
    assert (call.model, call.key, call.outcome) == ("steady", KEY, "finished")


async def test_requests_that_make_no_sense_are_refused(lab: LabServer) -> None:
    async with aiohttp.ClientSession() as session:
        for body in (b"not json", b"{}", b"[]", b'{"model": "echo", "messages": 7}'):
            async with session.post(f"{lab.url}/v1/chat/completions", data=body) as response:
                assert response.status == 400
        async with session.post(f"{lab.url}/v1/messages", json={"model": "x", "messages": []}) as response:
            assert response.status == 404


async def test_scripts_of_one_s_own_are_served() -> None:
    served = FakeProviderServer(Scripts({"mine": Script(answer="{question}!", pace=0.001)}))
    async with serve_provider(served) as url, aiohttp.ClientSession() as session:
        asked = {"model": "mine", "messages": [{"role": "user", "content": "Hm"}]}
        async with session.post(f"{url}/v1/chat/completions", json=asked) as response:
            assert '"content": "Hm!"' in await response.text()


async def test_a_paced_answer_is_the_same_answer(lab: LabServer) -> None:
    assert (await take(lab.provider("openai"), "steady")).result.text == SAMPLE_ANSWER
