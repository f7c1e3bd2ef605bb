"""What the OpenAI-compatible API adds to the first token over Moot's own API, while many streams run.

Run `python -m bench.face`. One server serves many streams through the OpenAI-compatible API. Meanwhile a client calls each
API in turn, again and again, with a script that answers at once. So other load on the machine affects all APIs equally.
"""

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import cycle, islice, permutations
from statistics import median, quantiles

import aiohttp
import uvloop

from bench.databases import create_workspace
from bench.processes import moot_serve

GOAL_MS = 5.0
SCRIPTS = """\
[murmur]
answer = "{words}"
chunk_interval_seconds = 0.05
"""
SETTINGS = '[providers.scripted]\nscript = "scripts.toml"\n'
WORDS = "so it is " * 5000  # 20 chunks a second, for longer than any measurement
SETTLE_SECONDS = 3.0  # seconds
PAUSE_SECONDS = 0.05  # seconds between two calls
WARM_UP_CALLS = 6  # calls that do not count

Http = aiohttp.ClientSession
FirstToken = Callable[[Http, str], Awaitable[aiohttp.ClientResponse]]


async def own_api(http: Http, discussion: str) -> aiohttp.ClientResponse:
    """Send a message over Moot's own API, and wait for the first text."""
    path = f"/api/discussions/{discussion}/messages"
    async with http.post(path, json={"message": "Now?"}) as reply:
        run = (await reply.json())["run"]["id"]
    return await _wait_for_bytes(await http.get(f"/api/runs/{run}/events"), b'"text_delta"')


async def openai_discussion(http: Http, discussion: str) -> aiohttp.ClientResponse:
    request = _completion_request("moot/single", discussion=discussion)
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=request), b'"content":"Now')


async def openai_stateless(http: Http, _: str) -> aiohttp.ClientResponse:
    request = _completion_request("scripted/echo")
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=request), b'"content":"Now')


API_CALLS: Mapping[str, FirstToken] = {
    "own API": own_api,
    "/v1, in a discussion": openai_discussion,
    "/v1, stateless": openai_stateless,
}


def _completion_request(model: str, **more: str) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": "Now?"}], "stream": True, **more}


async def _wait_for_bytes(response: aiohttp.ClientResponse, expected: bytes) -> aiohttp.ClientResponse:
    assert response.status == 200, await response.text()
    came = b""
    async for piece in response.content.iter_any():
        came += piece
        if expected in came:
            return response
    raise AssertionError(f"no first token: {came[-500:]!r}")


async def _create_discussion(http: Http, model: str) -> tuple[str, str]:
    """Create a discussion, and return it and its run."""
    request = {"message": "Before.", "participants": [model], "title": "Measured"}
    async with http.post("/api/discussions", json=request) as opened:
        body = await opened.json()
    return body["discussion"]["id"], body["run"]["id"]


@asynccontextmanager
async def _background_streams(http: Http, streams: int) -> AsyncIterator[None]:
    """Keep so many streams running, each in a discussion of its own."""
    readers: list[asyncio.Task[None]] = []
    for _ in range(streams):
        request = _completion_request("moot/single", discussion=(await _create_discussion(http, "scripted/murmur"))[0])
        response = await http.post("/v1/chat/completions", json=request)
        assert response.status == 200, await response.text()
        readers.append(asyncio.create_task(_read(response)))
    await asyncio.sleep(SETTLE_SECONDS)
    yield
    assert not any(reader.done() for reader in readers), "a stream has ended"
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def _read(response: aiohttp.ClientResponse) -> None:
    async with response:
        async for _ in response.content.iter_any():
            pass


async def measure_first_tokens(streams: int, times: int) -> Mapping[str, list[float]]:
    """Return how many milliseconds the first token took, for each call, by API."""
    took: dict[str, list[float]] = {api: [] for api in API_CALLS}
    async with create_workspace(None) as workspace:
        (workspace.folder / "scripts.toml").write_text(SCRIPTS.replace("{words}", WORDS), "utf-8")
        async with (
            moot_serve(workspace.folder, workspace.url, SETTINGS) as server,
            Http(server.url, connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            await server.wait_until_answered("/readyz")
            async with _background_streams(http, streams):
                opened = {api: await _create_discussion(http, "scripted/echo") for api in API_CALLS}
                for order in islice(cycle(permutations(API_CALLS)), WARM_UP_CALLS + times):
                    for api in order:  # in every order, so that no API always follows the same one
                        took[api].append(await _measure_once(http, API_CALLS[api], opened[api][0]))
    return {api: calls[WARM_UP_CALLS:] for api, calls in took.items()}


async def _measure_once(http: Http, first_token: FirstToken, discussion: str) -> float:
    await asyncio.sleep(PAUSE_SECONDS)
    began = time.perf_counter()
    response = await first_token(http, discussion)
    took = time.perf_counter() - began
    await _read(response)
    return 1000 * took


async def main(streams: int, times: int) -> None:
    took = await measure_first_tokens(streams, times)
    own = median(took["own API"])
    worst = max(median(one) - own for one in took.values())
    print("| door | streams | first token p10, ms | p50, ms | p90, ms | added p50, ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for api, one in took.items():
        added = "" if api == "own API" else f"{median(one) - own:+.1f}"
        low, *_, high = quantiles(one, n=10)
        print(f"| {api} | {streams} | {low:.1f} | {median(one):.1f} | {high:.1f} | {added} |")
    print(f"\nAt most {GOAL_MS:g} ms more than our own API: {'met' if worst <= GOAL_MS else 'not met'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    quick = parser.parse_args().quick
    uvloop.run(main(*((5, 10) if quick else (100, 300))))
