import aiohttp
import pytest

from moot.testing.discord import server as module
from moot.testing.discord.guild import Json, Upload
from moot.testing.discord.server import FakeDiscord, serve_discord


async def test_channel_transcript_has_authors_and_files() -> None:
    async with serve_discord(FakeDiscord()) as double:
        channel = double.add_channel("general")
        first = double.post_message(channel, "anna", "Hello")
        double.post_message(channel, "bert", "Look", files=[Upload("a.png", b"1")], reply_to=first)
        assert double.channel_transcript(channel) == "anna: Hello\nbert: Look [a.png]\n"
        assert await double.wait_for_message(channel, "Hel") == first


async def test_pressed_button_dispatches_interaction_and_ephemeral_reply_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with serve_discord(FakeDiscord()) as double, aiohttp.ClientSession() as http:
        told: list[Json] = []
        monkeypatch.setattr(double.gateway, "dispatch", lambda _, event: told.append(event))
        channel = double.add_channel("general")
        button = {"type": 2, "label": "Yes", "custom_id": "yes"}
        body = {"content": "Well?", "components": [{"type": 1, "components": [button]}]}
        message = double.guild.post_message(channel, double.guild.bot, body)
        token = double.press_button(channel, "anna", message, "Yes", permissions="0")
        [event] = told
        assert (event["type"], event["data"]) == (3, {"custom_id": "yes", "component_type": 2})
        assert (event["message"], event["member"]["permissions"]) == (message, "0")
        async with http.post(f"{double.api_base_url}/interactions/1/{token}/callback", json={"type": 6}) as reply:
            assert (await reply.json())["interaction"]["type"] == 3
        aside = {"content": "Thanks.", "flags": 64}
        async with http.post(f"{double.api_base_url}/webhooks/1/{token}", json=aside) as reply:
            assert reply.status == 200
        assert double.channel_lines(channel) == [("Moot", "Well?")]
        assert double.rest.command_replies[-1]["content"] == "Thanks."


async def test_wait_until_timeout_shows_transcript(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_TIMEOUT_SECONDS", 0.01)
    double = FakeDiscord()
    double.post_message(double.add_channel("general"), "anna", "Hello")
    with pytest.raises(TimeoutError, match="anna: Hello"):
        await double.wait_until(lambda: False)
