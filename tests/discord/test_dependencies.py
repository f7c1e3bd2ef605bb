from pathlib import Path

import pytest

from moot.cli import discord as command
from tests.discord.parley import parley


async def test_the_channel_speaks_for_the_account_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch, joined=False, degree=3) as here:
        premises = await command.build_discord_deps(here.house, here.settings)
        assert (premises.caller.name, premises.delivery_style, premises.default_model) == (
            "local",
            3,
            "scripted/brief",
        )
