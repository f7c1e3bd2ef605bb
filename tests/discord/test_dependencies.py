from pathlib import Path

import pytest

from moot.cli import discord as command
from tests.discord.bot_session import open_bot_session


async def test_discord_deps_use_local_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False, delivery="sentences") as session:
        deps = await command.build_discord_deps(session.worker, session.settings)
        assert (deps.caller.name, deps.settings.delivery, deps.default_model) == (
            "local",
            "sentences",
            "scripted/brief",
        )
