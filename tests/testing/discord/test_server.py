import aiohttp
import pytest

from moot.testing.discord import server as module
from moot.testing.discord.guild import Json, Upload
from moot.testing.discord.server import FakeDiscord, serve_discord


async def test_channel_transcript_has_authors_and_files() -> None:
    async with serve_discord(FakeDiscord()) as fake_discord:
        channel = fake_discord.add_channel("general")
        first = fake_discord.post_message(channel, "anna", "Hello")
        fake_discord.post_message(channel, "bert", "Look", files=[Upload("a.png", b"1")], reply_to=first)
        assert fake_discord.channel_transcript(channel) == "anna: Hello\nbert: Look [a.png]\n"
        assert await fake_discord.wait_for_message(channel, "Hel") == first


async def test_pressed_button_dispatches_interaction_and_ephemeral_reply_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_discord(FakeDiscord()) as fake_discord, aiohttp.ClientSession() as http:
        events: list[Json] = []
        monkeypatch.setattr(fake_discord.gateway, "dispatch", lambda _, event: events.append(event))
        channel = fake_discord.add_channel("general")
        button = {"type": 2, "label": "Yes", "custom_id": "yes"}
        body = {"content": "Well?", "components": [{"type": 1, "components": [button]}]}
        message = fake_discord.guild.post_message(channel, fake_discord.guild.bot, body)
        token = fake_discord.press_button(channel, "anna", message, "Yes", permissions="0")
        [event] = events
        assert (event["type"], event["data"]) == (3, {"custom_id": "yes", "component_type": 2})
        assert (event["message"], event["member"]["permissions"]) == (message, "0")
        async with http.post(f"{fake_discord.api_base_url}/interactions/1/{token}/callback", json={"type": 6}) as reply:
            assert (await reply.json())["interaction"]["type"] == 3
        aside = {"content": "Thanks.", "flags": 64}
        async with http.post(f"{fake_discord.api_base_url}/webhooks/1/{token}", json=aside) as reply:
            assert reply.status == 200
        assert fake_discord.channel_lines(channel) == [("Moot", "Well?")]
        assert fake_discord.rest.command_replies[-1]["content"] == "Thanks."


async def test_wait_until_timeout_shows_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_TIMEOUT_SECONDS", 0.01)
    fake_discord = FakeDiscord()
    fake_discord.post_message(fake_discord.add_channel("general"), "anna", "Hello")
    with pytest.raises(TimeoutError, match="anna: Hello"):
        await fake_discord.wait_until(lambda: False)
