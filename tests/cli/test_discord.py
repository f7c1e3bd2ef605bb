import importlib.util
from pathlib import Path

import pytest

from moot.cli import discord as command
from moot.settings import DiscordSettings, Settings
from moot.types.errors import BadSettings, FeatureUnavailable
from tests.discord.bot_session import open_bot_session
from tests.support.moot_process import MootCli, usage_error_text


def test_missing_token_error_names_environment_variable(moot: MootCli) -> None:
    assert "MOOT_DISCORD_TOKEN" in usage_error_text(moot("discord", "--port", "0"))


def test_missing_discord_package_error_names_install_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with pytest.raises(FeatureUnavailable, match="uv run --extra discord moot discord"):
        command.check_discord_settings(Settings(discord=DiscordSettings(token="x")))
    assert importlib.util.find_spec("discord")


async def test_build_discord_deps_uses_account_from_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False, account="ada") as session:
        with pytest.raises(BadSettings, match="moot user add ada"):
            await command.build_discord_deps(session.worker, session.settings)
        ada = await session.services.accounts.create_account("ada", "correct horse")
        deps = await command.build_discord_deps(session.worker, session.settings)
        assert (deps.caller.account, deps.caller.tenant) == (ada.id, ada.tenant)
