import pytest

from moot.lab.discord import double as module
from moot.lab.discord.double import Double, serving
from moot.lab.discord.guild import Upload


async def test_a_transcript_says_who_wrote_what() -> None:
    async with serving(Double()) as double:
        channel = double.channel("general")
        first = double.say(channel, "anna", "Hello")
        double.say(channel, "bert", "Look", files=[Upload("a.png", b"1")], reply_to=first)
        assert double.transcript(channel) == "anna: Hello\nbert: Look [a.png]\n"
        assert await double.until_shown(channel, "Hel") == first


async def test_what_does_not_come_about_is_told_with_what_did(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.01)
    double = Double()
    double.say(double.channel("general"), "anna", "Hello")
    with pytest.raises(TimeoutError, match="anna: Hello"):
        await double.until(lambda: False)
