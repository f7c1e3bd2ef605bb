"""Turns of a provider, and the fake provider server with a real adapter for each wire format."""

from msgspec import Struct

from moot.providers.catalog import Api
from moot.providers.http_provider import HttpProvider
from moot.providers.provider import Provider
from moot.providers.registry import WIRE_FORMATS
from moot.providers.scripted.scripts import Script
from moot.providers.transport import Transport
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Limits, StreamConsumer, StreamResult, consume_stream
from moot.testing.provider_server import FakeProviderServer
from moot.types.events import Event, TurnKey
from moot.types.requests import ModelRequest, user_message

API_KEY = "sk-canary-0123456789abcdef"
GENEROUS_LIMITS = Limits(idle=60.0, total=120.0, characters=200_000)


class ProviderTurn(Struct):
    """The result of a turn, and its events."""

    result: StreamResult
    events: list[Event]


async def run_provider_turn(
    provider: Provider,
    model: str,
    *,
    limits: Limits = GENEROUS_LIMITS,
    stop: StopSignal | None = None,
    request: ModelRequest | None = None,
) -> ProviderTurn:
    events: list[Event] = []

    async def emit(more: list[Event]) -> None:
        events.extend(more)

    model_request = request or ModelRequest(model=model, messages=(user_message("What is a moot?"),))
    stream = provider.stream_chunks(model_request, API_KEY)
    result = await consume_stream(stream, StreamConsumer(TurnKey("alpha"), limits), stop or StopSignal(), emit)
    return ProviderTurn(result, events)


class ProviderServerSetup(Struct):
    """The fake provider server and its address, with a real adapter for each wire format."""

    fake_server: FakeProviderServer
    url: str
    transport: Transport

    def create_provider(self, api: Api) -> HttpProvider:
        base = f"{self.url}/v1beta" if api == "google" else f"{self.url}/v1"
        return HttpProvider(api, WIRE_FORMATS[api](), base, self.transport)

    def add_scripts(self, **scripts: Script) -> None:
        self.fake_server.scripts.by_name.update(scripts)
