"""Taking a turn from a provider, and the lab with a real adapter for each wire format."""

from msgspec import Struct

from moot.providers.catalog import Api
from moot.providers.http_provider import HttpProvider
from moot.providers.provider import Provider
from moot.providers.registry import WIRES
from moot.providers.scripted.scripts import Script
from moot.providers.transport import Transport
from moot.streaming.cancellation import Stop
from moot.streaming.turn_stream import Limits, StreamResult, listen
from moot.testing.provider_server import Lab
from moot.types.events import Event, Seat
from moot.types.requests import ModelRequest, user

KEY = "sk-canary-0123456789abcdef"
PATIENT = Limits(idle=60.0, total=120.0, characters=200_000)


class Taken(Struct):
    """A turn that was taken: what it came to and the events on the way."""

    result: StreamResult
    events: list[Event]


async def take(
    provider: Provider,
    model: str,
    *,
    limits: Limits = PATIENT,
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

    def provider(self, api: Api) -> HttpProvider:
        base = f"{self.url}/v1beta" if api == "google" else f"{self.url}/v1"
        return HttpProvider(api, WIRES[api](), base, self.transport)

    def add(self, **scripts: Script) -> None:
        self.lab.scripts.named.update(scripts)
