"""Measure the latency of the first token through the OpenAI-compatible API and Moot's own API, with many other streams.

Run `python -m bench.openai_endpoint`. One server handles many streams through the OpenAI-compatible API. In parallel, a
client sends requests to each API in turn. The model is a script without delay. Other processes affect all APIs equally.
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
from bench.processes import run_moot_server

MAX_ADDED_MS = 5.0
SCRIPTS = """\
[background]
answer = "{answer}"
chunk_interval_seconds = 0.05
"""
SETTINGS = '[providers.scripted]\nscript = "scripts.toml"\n'
BACKGROUND_ANSWER = "so it is " * 5000  # 20 chunks per second, for longer than the benchmark runs
SETTLE_SECONDS = 3.0
PAUSE_SECONDS = 0.05  # between two requests
WARM_UP_REQUESTS = 6  # the result excludes these requests

Http = aiohttp.ClientSession
RequestFirstToken = Callable[[Http, str], Awaitable[aiohttp.ClientResponse]]


async def request_own_api(http: Http, discussion: str) -> aiohttp.ClientResponse:
    """Send a message with Moot's own API, and return the event stream after its first text."""
    path = f"/api/discussions/{discussion}/messages"
    async with http.post(path, json={"message": "Now?"}) as response:
        run = (await response.json())["run"]["id"]
    return await _wait_for_bytes(await http.get(f"/api/runs/{run}/events"), b'"text_delta"')


async def request_in_discussion(http: Http, discussion: str) -> aiohttp.ClientResponse:
    request = _build_completion_request("moot/single", discussion=discussion)
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=request), b'"content":"Now')


async def request_stateless(http: Http, _: str) -> aiohttp.ClientResponse:
    request = _build_completion_request("scripted/echo")
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=request), b'"content":"Now')


API_REQUESTS: Mapping[str, RequestFirstToken] = {
    "own API": request_own_api,
    "/v1, in a discussion": request_in_discussion,
    "/v1, stateless": request_stateless,
}


def _build_completion_request(model: str, **fields: str) -> dict[str, object]:
    return {"model": model, "messages": [{"role": "user", "content": "Now?"}], "stream": True, **fields}


async def _wait_for_bytes(response: aiohttp.ClientResponse, expected: bytes) -> aiohttp.ClientResponse:
    assert response.status == 200, await response.text()
    received = b""
    async for piece in response.content.iter_any():
        received += piece
        if expected in received:
            return response
    raise AssertionError(f"no first token: {received[-500:]!r}")


async def _create_discussion(http: Http, model: str) -> tuple[str, str]:
    """Create a discussion, and return its id and the id of its run."""
    request = {"message": "Before.", "participants": [model], "title": "Measured"}
    async with http.post("/api/discussions", json=request) as response:
        body = await response.json()
    return body["discussion"]["id"], body["run"]["id"]


@asynccontextmanager
async def _run_background_streams(http: Http, streams: int) -> AsyncIterator[None]:
    """Run this number of streams in background tasks, each in its own discussion."""
    readers: list[asyncio.Task[None]] = []
    for _ in range(streams):
        request = _build_completion_request(
            "moot/single", discussion=(await _create_discussion(http, "scripted/background"))[0]
        )
        response = await http.post("/v1/chat/completions", json=request)
        assert response.status == 200, await response.text()
        readers.append(asyncio.create_task(_read_body(response)))
    await asyncio.sleep(SETTLE_SECONDS)
    yield
    assert not any(reader.done() for reader in readers), "a stream has ended"
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)


async def _read_body(response: aiohttp.ClientResponse) -> None:
    async with response:
        async for _ in response.content.iter_any():
            pass


async def measure_first_tokens(streams: int, request_count: int) -> Mapping[str, list[float]]:
    """Return the first-token latency of each request in milliseconds; the key is the API."""
    latencies: dict[str, list[float]] = {api: [] for api in API_REQUESTS}
    async with create_workspace(None) as workspace:
        (workspace.folder / "scripts.toml").write_text(SCRIPTS.replace("{answer}", BACKGROUND_ANSWER), "utf-8")
        async with (
            run_moot_server(workspace.folder, workspace.url, SETTINGS) as server,
            Http(server.url, connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            await server.wait_for_response("/readyz")
            async with _run_background_streams(http, streams):
                discussions = {api: await _create_discussion(http, "scripted/echo") for api in API_REQUESTS}
                for order in islice(cycle(permutations(API_REQUESTS)), WARM_UP_REQUESTS + request_count):
                    for api in order:  # use every order, so that no API always follows the same one
                        latencies[api].append(await _measure_latency(http, API_REQUESTS[api], discussions[api][0]))
    return {api: values[WARM_UP_REQUESTS:] for api, values in latencies.items()}


async def _measure_latency(http: Http, request_first_token: RequestFirstToken, discussion: str) -> float:
    await asyncio.sleep(PAUSE_SECONDS)
    start_time = time.perf_counter()
    response = await request_first_token(http, discussion)
    latency = time.perf_counter() - start_time
    await _read_body(response)
    return 1000 * latency


async def main(streams: int, request_count: int) -> None:
    latencies = await measure_first_tokens(streams, request_count)
    own = median(latencies["own API"])
    worst = max(median(values) - own for values in latencies.values())
    print("| API | streams | first token p10, ms | p50, ms | p90, ms | added p50, ms |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for api, values in latencies.items():
        added = "" if api == "own API" else f"{median(values) - own:+.1f}"
        low, *_, high = quantiles(values, n=10)
        print(f"| {api} | {streams} | {low:.1f} | {median(values):.1f} | {high:.1f} | {added} |")
    print(f"\nAt most {MAX_ADDED_MS:g} ms more than Moot's own API: {'met' if worst <= MAX_ADDED_MS else 'not met'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    quick = parser.parse_args().quick
    uvloop.run(main(*((5, 10) if quick else (100, 300))))
