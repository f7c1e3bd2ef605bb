"""What most tests need: the lab on a socket, the providers that speak to it, and a turn taken from one."""

from collections.abc import AsyncIterator, Iterator

import pytest
from msgspec import Struct

from moot.lab.server import Lab, serving
from moot.model.events import Event, Seat
from moot.model.requests import ModelRequest, user
from moot.providers.http import HttpProvider
from moot.providers.provider import Provider
from moot.providers.registry import WIRES
from moot.providers.scripts import BUILT_IN, Script, Scripts
from moot.providers.transport import Transport
from moot.streams.stop import Stop
from moot.streams.turn import Limits, StreamResult, listen

KEY = "sk-canary-0123456789abcdef"
QUICK = Limits(idle=2.0, total=10.0, characters=200_000)


class Taken(Struct):
    """A turn that was taken: what it came to and the events on the way."""

    result: StreamResult
    events: list[Event]


async def take(
    provider: Provider,
    model: str,
    *,
    limits: Limits = QUICK,
    stop: Stop | None = None,
    request: ModelRequest | None = None,
) -> Taken:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    asked = request or ModelRequest(model=model, messages=(user("What is a moot?"),))
    result = await listen(provider.stream(asked, KEY), Seat("alpha"), stop or Stop(), limits, emit)
    return Taken(result, events)


class LabServer(Struct):
    """The lab and its address, with a real adapter for each wire format."""

    lab: Lab
    url: str
    transport: Transport

    def provider(self, api: str) -> HttpProvider:
        base = f"{self.url}/v1beta" if api == "google" else f"{self.url}/v1"
        return HttpProvider(api, WIRES[api](), base, self.transport)  # type: ignore[index]

    def add(self, **scripts: Script) -> None:
        self.lab.scripts.named.update(scripts)


@pytest.fixture
async def lab() -> AsyncIterator[LabServer]:
    served = Lab(Scripts(BUILT_IN))
    transport = Transport()
    async with serving(served) as url:
        yield LabServer(served, url, transport)
        await transport.aclose()


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tests never see the keys or settings of whoever runs them."""
    for name in list(__import__("os").environ):
        if name.endswith(("_API_KEY", "_BASE_URL")) or name.startswith("MOOT_"):
            monkeypatch.delenv(name)
    yield
