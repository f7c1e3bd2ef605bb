from pathlib import Path

import pytest

from moot.cli import discord as command
from tests.discord.parley import open_bot_session


async def test_the_channel_speaks_for_the_account_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, joined=False, degree=3) as here:
        premises = await command.build_discord_deps(here.services, here.settings)
        assert (premises.caller.name, premises.delivery_style, premises.default_model) == (
            "local",
            3,
            "scripted/brief",
        )
