from pathlib import Path

import pytest

from tests.channels.discord.parley import parley


async def test_a_message_in_a_bound_channel_is_answered_under_the_names_of_the_participants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        told = await here.command("new", participants="sceptic = scripted/one")
        assert "Sceptic" in told
        here.say("Why are tables round?")
        await here.shown("And the second.")
        assert here.heard()[-3:] == [
            ("anna", "Why are tables round?"),
            ("Sceptic", "The first word."),
            ("Sceptic", "And the second."),
        ]
        print(here.double.transcript(here.general), here.double.guild.sent)
