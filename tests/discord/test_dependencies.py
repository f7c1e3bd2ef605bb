from pathlib import Path

import pytest

from moot.cli import discord as command
from tests.discord.bot_session import open_bot_session


async def test_discord_deps_use_local_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False, delivery="sentences") as here:
        premises = await command.build_discord_deps(here.worker, here.settings)
        assert (premises.caller.name, premises.delivery_style, premises.default_model) == (
            "local",
            "sentences",
            "scripted/brief",
        )
