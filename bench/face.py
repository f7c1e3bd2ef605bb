"""What the OpenAI face adds to the first token over Moot's own API, while many streams go on.

Run `python -m bench.face`. One server serves so many streams through the face; beside them somebody comes through each door
in turn, again and again, and asks a script that answers at once. So whatever else the machine does, it does to all doors.
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
WORDS = "so it is " * 5000  # 20 chunks a second, for longer than anybody measures
SETTLE_SECONDS = 3.0  # seconds
PAUSE_SECONDS = 0.05  # seconds between two who come
WARM_UP_CALLS = 6  # of them, who do not count

Http = aiohttp.ClientSession
FirstToken = Callable[[Http, str], Awaitable[aiohttp.ClientResponse]]


async def own_api(http: Http, discussion: str) -> aiohttp.ClientResponse:
    """Say something in a discussion over Moot's own API, and wait for the first word."""
    path = f"/api/discussions/{discussion}/messages"
    async with http.post(path, json={"message": "Now?"}) as said:
        run = (await said.json())["run"]["id"]
    return await _wait_for_bytes(await http.get(f"/api/runs/{run}/events"), b'"text_delta"')


async def openai_discussion(http: Http, discussion: str) -> aiohttp.ClientResponse:
    asked = _completion_request("moot/single", discussion=discussion)
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=asked), b'"content":"Now')


async def openai_stateless(http: Http, _: str) -> aiohttp.ClientResponse:
    asked = _completion_request("scripted/echo")
    return await _wait_for_bytes(await http.post("/v1/chat/completions", json=asked), b'"content":"Now')


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
    """Open a discussion, and return it and its run."""
    asked = {"message": "Before.", "participants": [model], "title": "Measured"}
    async with http.post("/api/discussions", json=asked) as opened:
        body = await opened.json()
    return body["discussion"]["id"], body["run"]["id"]


@asynccontextmanager
async def _background_streams(http: Http, streams: int) -> AsyncIterator[None]:
    """Let so many streams go on, each in a discussion of its own."""
    readers: list[asyncio.Task[None]] = []
    for _ in range(streams):
        asked = _completion_request("moot/single", discussion=(await _create_discussion(http, "scripted/murmur"))[0])
        response = await http.post("/v1/chat/completions", json=asked)
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
    """Return how many milliseconds the first token took, each time, by door."""
    took: dict[str, list[float]] = {door: [] for door in API_CALLS}
    async with create_workspace(None) as place:
        (place.folder / "scripts.toml").write_text(SCRIPTS.replace("{words}", WORDS), "utf-8")
        async with (
            moot_serve(place.folder, place.url, SETTINGS) as server,
            Http(server.url, connector=aiohttp.TCPConnector(limit=0)) as http,
        ):
            await server.wait_until_answered("/readyz")
            async with _background_streams(http, streams):
                opened = {door: await _create_discussion(http, "scripted/echo") for door in API_CALLS}
                for order in islice(cycle(permutations(API_CALLS)), WARM_UP_CALLS + times):
                    for door in order:  # what one leaves behind for the next, it leaves to each of them
                        took[door].append(await _measure_once(http, API_CALLS[door], opened[door][0]))
    return {door: all_of_them[WARM_UP_CALLS:] for door, all_of_them in took.items()}


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
    for door, one in took.items():
        added = "" if door == "own API" else f"{median(one) - own:+.1f}"
        low, *_, high = quantiles(one, n=10)
        print(f"| {door} | {streams} | {low:.1f} | {median(one):.1f} | {high:.1f} | {added} |")
    print(f"\nAt most {GOAL_MS:g} ms more than our own API: {'met' if worst <= GOAL_MS else 'not met'}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    quick = parser.parse_args().quick
    uvloop.run(main(*((5, 10) if quick else (100, 300))))
