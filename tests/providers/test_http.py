import asyncio
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moot.lab.anthropic import AnthropicDialect
from moot.lab.dialect import Dialect
from moot.lab.frames import event, frames
from moot.lab.google import GoogleDialect
from moot.lab.openai import OpenAIDialect
from moot.model.requests import ModelRequest, user
from moot.providers.http import HttpProvider
from moot.providers.registry import WIRES, Api
from moot.providers.scripts import LOOK_UP, Script, Scripts
from moot.providers.sse import EventParser
from moot.providers.transport import Transport
from moot.streams.stop import Stop
from tests.taking import LabServer, Taken, take

APIS: tuple[Api, ...] = ("openai", "anthropic", "google")
DIALECTS: dict[Api, type[Dialect]] = {
    "openai": OpenAIDialect,
    "anthropic": AnthropicDialect,
    "google": GoogleDialect,
}
RICH = Script(
    thoughts="Zuerst: ein Gedanke. 考える。",
    answer='Ein Tisch — <think>rund?</think> ja 🪑👩‍👩‍👧.\u2028Zeile `<think>` \\ "Zitat"\n```py\n<details>\n```\n<details>klein</details>',
    tool=LOOK_UP,
    chunk=5,
)


class Replay(Transport):
    """A transport that brings recorded bytes, cut as it is told."""

    def __init__(self, pieces: Sequence[bytes]) -> None:
        super().__init__()
        self._pieces = pieces

    async def post(
        self, who: str, url: str, headers: Mapping[str, str], body: bytes, key: str | None
    ) -> AsyncGenerator[list[bytes], None]:
        parser = EventParser()
        for piece in self._pieces:
            if events := parser.feed(piece):
                yield events


def recorded(api: Api) -> bytes:
    scripts = Scripts({"rich": RICH})
    performance = scripts.perform(ModelRequest(model="rich", messages=(user("?"),)))
    return b"".join(event(frame, "") for frame in frames(DIALECTS[api](), performance))


async def replayed(api: Api, pieces: Sequence[bytes]) -> Taken:
    return await take(HttpProvider(api, WIRES[api](), "http://replay", Replay(pieces)), "rich")


@pytest.mark.parametrize("api", APIS)
def test_any_cut_of_a_recorded_stream_gives_the_same_turn(api: Api) -> None:
    stream = recorded(api)
    whole = asyncio.run(replayed(api, [stream])).result
    assert (whole.status, whole.details) == ("tool_call", "klein")
    assert "rund?" in whole.thoughts
    assert "🪑👩‍👩‍👧.\u2028Zeile" in whole.text

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.integers(0, len(stream)), max_size=40))
    def cut(places: list[int]) -> None:
        cuts = sorted(places)
        pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
        result = asyncio.run(replayed(api, pieces)).result
        for field in ("status", "text", "thoughts", "details", "tool_calls", "usage", "finish", "fault"):
            assert getattr(result, field) == getattr(whole, field)

    cut()
    bytewise = asyncio.run(replayed(api, [bytes([byte]) for byte in stream])).result
    assert (bytewise.text, bytewise.thoughts) == (whole.text, whole.thoughts)


@pytest.mark.parametrize("api", APIS)
async def test_a_stop_closes_the_connection_at_once(lab: LabServer, api: Api) -> None:
    stop = Stop()
    turn = asyncio.create_task(take(lab.provider(api), "slow", stop=stop))
    while not (lab.lab.calls and lab.lab.calls[0].frames > 2):
        await asyncio.sleep(0.01)
    stop.request()
    began = time.monotonic()
    taken = await turn
    while not lab.lab.calls[0].ended:
        await asyncio.sleep(0.005)
    assert time.monotonic() - began < 0.25
    assert lab.lab.calls[0].ended == "client left"
    assert taken.result.status == "stopped_by_user"


@pytest.mark.parametrize("api", APIS)
async def test_the_script_over_the_socket_is_the_script_in_process(lab: LabServer, api: Api) -> None:
    lab.add(rich=RICH)
    result = (await take(lab.provider(api), "rich")).result
    assert (result.text, result.details) == (
        'Ein Tisch —  ja 🪑👩‍👩‍👧.\u2028Zeile `<think>` \\ "Zitat"\n```py\n<details>\n```\n',
        "klein",
    )


async def test_a_list_that_is_no_list_is_a_bad_response(lab: LabServer) -> None:
    from moot.model.errors import ProviderError  # noqa: PLC0415 - only here

    wrong = HttpProvider("wrong", WIRES["google"](), f"{lab.url}/v1", lab.transport)
    with pytest.raises(ProviderError, match="no list of models"):
        await wrong.models()


async def test_prices_go_by_address(lab: LabServer) -> None:
    from moot.model.chunks import Usage  # noqa: PLC0415 - only here

    here = HttpProvider("openai", WIRES["openai"](), "https://api.openai.com/v1", lab.transport)
    elsewhere = HttpProvider("openai", WIRES["openai"](), lab.url, lab.transport)
    free = HttpProvider("ollama", WIRES["openai"](), lab.url, lab.transport, free=True)
    usage = Usage(1_000_000, 1_000_000)
    assert (here.cost("gpt-4o-mini", usage) or 0) > 0
    assert elsewhere.cost("gpt-4o-mini", usage) is None
    assert free.cost("gpt-4o-mini", usage) == 0.0
    assert here.profile("gpt-4o-mini").context == 128_000


@pytest.mark.parametrize("api", APIS)
async def test_one_connection_serves_many_answers(lab: LabServer, api: Api) -> None:
    opened = 0
    made = lab.transport.session.connector
    assert made is not None
    create = made._create_connection

    async def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal opened
        opened += 1
        return await create(*args, **kwargs)

    made._create_connection = counted  # type: ignore[method-assign]
    for _ in range(5):
        assert (await take(lab.provider(api), "echo")).result.status == "completed"
    assert opened == 1
