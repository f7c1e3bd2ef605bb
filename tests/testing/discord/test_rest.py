from collections.abc import AsyncIterator

import aiohttp
import pytest

from moot.testing.discord.server import FAKE_BOT_TOKEN, FakeDiscord, serve_discord

HEADERS = {"Authorization": f"Bot {FAKE_BOT_TOKEN}"}


@pytest.fixture
async def fake_discord() -> AsyncIterator[FakeDiscord]:
    async with serve_discord(FakeDiscord()) as fake_discord:
        yield fake_discord


@pytest.fixture
async def http(fake_discord: FakeDiscord) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(headers=HEADERS) as session:
        yield session


async def test_response_has_json_content_type_and_rate_limit_headers(
    fake_discord: FakeDiscord, http: aiohttp.ClientSession
) -> None:
    async with http.get(f"{fake_discord.api_base_url}/users/@me") as reply:
        assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
        assert reply.headers["Via"]
        assert reply.headers["X-RateLimit-Bucket"]
        assert (await reply.json())["username"] == "Moot"


async def test_request_without_token_is_unauthorized(fake_discord: FakeDiscord) -> None:
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{fake_discord.api_base_url}/users/@me") as reply,
    ):
        assert reply.status == 401


async def test_rate_limited_request_returns_retry_after(fake_discord: FakeDiscord, http: aiohttp.ClientSession) -> None:
    fake_discord.rest.buckets.window_seconds = 60.0
    channel = fake_discord.add_channel("general")
    statuses = []
    for _ in range(6):
        async with http.post(f"{fake_discord.api_base_url}/channels/{channel.id}/typing") as reply:
            statuses.append(reply.status)
            body = await reply.read()
    assert statuses == [204] * 5 + [429]
    assert b'"retry_after":' in body


@pytest.mark.parametrize(
    ("kind", "status", "arrived"),
    [("rate", 429, 0), ("cloudflare", 429, 0), ("broken", 502, 0), ("done_and_broken", 502, 1)],
)
async def test_injected_fault_returns_status_and_may_store_message(
    fake_discord: FakeDiscord, http: aiohttp.ClientSession, kind: str, status: int, arrived: int
) -> None:
    channel = fake_discord.add_channel("general")
    fake_discord.faults.add_fault("POST /channels/", kind)  # type: ignore[arg-type]
    async with http.post(
        f"{fake_discord.api_base_url}/channels/{channel.id}/messages", json={"content": "Hello"}
    ) as reply:
        assert reply.status == status
        assert ("Via" in reply.headers) == (kind != "cloudflare")
    assert len(channel.messages) == arrived


async def test_injected_lost_response_still_stores_message(
    fake_discord: FakeDiscord, http: aiohttp.ClientSession
) -> None:
    channel = fake_discord.add_channel("general")
    fake_discord.faults.add_fault("POST /channels/", "lost")
    with pytest.raises(aiohttp.ClientError):
        await http.post(f"{fake_discord.api_base_url}/channels/{channel.id}/messages", json={"content": "Hello"})
    assert len(channel.messages) == 1


async def test_message_list_is_newest_first(fake_discord: FakeDiscord, http: aiohttp.ClientSession) -> None:
    channel = fake_discord.add_channel("general")
    messages = [fake_discord.post_message(channel, "anna", str(number)) for number in range(4)]
    async with http.get(f"{fake_discord.api_base_url}/channels/{channel.id}/messages?limit=2") as reply:
        assert [one["content"] for one in await reply.json()] == ["3", "2"]
    after = messages[0]["id"]
    async with http.get(f"{fake_discord.api_base_url}/channels/{channel.id}/messages?after={after}&limit=2") as reply:
        assert [one["content"] for one in await reply.json()] == ["2", "1"]


async def test_message_is_edited_and_request_body_is_recorded(
    fake_discord: FakeDiscord, http: aiohttp.ClientSession
) -> None:
    channel = fake_discord.add_channel("general")
    message = fake_discord.guild.post_message(channel, fake_discord.guild.bot, {"content": "Hello"})
    url = f"{fake_discord.api_base_url}/channels/{channel.id}/messages/{message['id']}"
    async with http.patch(url, json={"content": "Good day"}) as reply:
        assert reply.status == 200
    assert fake_discord.guild.request_bodies == [{"content": "Good day"}]
    async with http.delete(url) as reply:
        assert reply.status == 204
    async with http.get(url) as reply:
        assert (await reply.json())["code"] == 10008


async def test_unknown_webhook_and_interaction_are_not_found(
    fake_discord: FakeDiscord, http: aiohttp.ClientSession
) -> None:
    async with http.post(f"{fake_discord.api_base_url}/webhooks/1/x", json={"content": "Hello"}) as reply:
        assert (reply.status, (await reply.json())["code"]) == (404, 10015)
    async with http.post(f"{fake_discord.api_base_url}/interactions/1/x/callback", json={"type": 5}) as reply:
        assert (reply.status, (await reply.json())["code"]) == (404, 10062)
