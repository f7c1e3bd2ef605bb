from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp

from moot.testing.discord.gateway import HEARTBEAT, HELLO, IDENTIFY, INVALID_SESSION, RESUME
from moot.testing.discord.guild import Json
from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord, serve_discord

IDENTIFY_PAYLOAD = {"op": IDENTIFY, "d": {"token": FAKE_BOT_TOKEN, "intents": 0}}


@asynccontextmanager
async def connect_gateway(fake_discord: FakeDiscord) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(fake_discord.gateway.gateway_url) as socket,
    ):
        assert (await socket.receive_json())["op"] == HELLO
        yield socket


async def identify(socket: aiohttp.ClientWebSocketResponse) -> Json:
    """Identify as a bot, and return the data of READY."""
    await socket.send_json(IDENTIFY_PAYLOAD)
    ready, guild = await socket.receive_json(), await socket.receive_json()
    assert (ready["t"], ready["s"], guild["t"], guild["s"]) == ("READY", 1, "GUILD_CREATE", 2)
    data: Json = ready["d"]
    return data


async def test_gateway_answers_heartbeats_and_numbers_events() -> None:
    async with serve_discord(FakeDiscord()) as fake_discord, connect_gateway(fake_discord) as socket:
        await socket.send_json({"op": HEARTBEAT, "d": None})
        assert await socket.receive_json() == {"op": 11}
        await identify(socket)
        fake_discord.post_message(fake_discord.add_channel("general"), "anna", "Hello")
        event = await socket.receive_json()
        assert (event["t"], event["s"], event["d"]["content"]) == ("MESSAGE_CREATE", 3, "Hello")


async def test_session_resumes_without_missing_events_after_disconnect() -> None:
    async with serve_discord(FakeDiscord()) as fake_discord:
        async with connect_gateway(fake_discord) as socket:
            session = (await identify(socket))["session_id"]
            fake_discord.gateway.abort_connections()
            assert (await socket.receive()).type in (aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.CLOSE)
        fake_discord.post_message(fake_discord.add_channel("general"), "anna", "Meanwhile")
        async with connect_gateway(fake_discord) as socket:
            await socket.send_json({"op": RESUME, "d": {"token": FAKE_BOT_TOKEN, "session_id": session, "seq": 2}})
            missed, resumed = await socket.receive_json(), await socket.receive_json()
            assert (missed["d"]["content"], resumed["t"]) == ("Meanwhile", "RESUMED")


async def test_unknown_session_is_rejected_at_resume() -> None:
    async with serve_discord(FakeDiscord()) as fake_discord, connect_gateway(fake_discord) as socket:
        await socket.send_json({"op": RESUME, "d": {"token": FAKE_BOT_TOKEN, "session_id": "x", "seq": 2}})
        assert await socket.receive_json() == {"op": INVALID_SESSION, "d": False}


async def test_wrong_token_and_disallowed_intents_close_connection() -> None:
    async with serve_discord(FakeDiscord()) as fake_discord:
        fake_discord.gateway.allows_privileged_intents = False
        for data, code in (
            ({"token": "x", "intents": 0}, 4004),
            ({"token": FAKE_BOT_TOKEN, "intents": 1 << 15}, 4014),
        ):
            async with connect_gateway(fake_discord) as socket:
                await socket.send_json({"op": IDENTIFY, "d": data})
                assert (await socket.receive()).data == code
