import importlib.util
from pathlib import Path

import pytest

from moot.cli import discord as command
from moot.settings import DiscordSettings, Settings
from moot.types.errors import BadSettings, FeatureUnavailable
from tests.cli.process import MootCli, usage_error_text
from tests.discord.parley import open_bot_session


def test_without_a_token_it_is_said_where_to_get_one(moot: MootCli) -> None:
    assert "MOOT_DISCORD_TOKEN" in usage_error_text(moot("discord", "--port", "0"))


def test_without_discord_py_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with pytest.raises(FeatureUnavailable, match="uv run --extra discord moot discord"):
        command.check_discord_settings(Settings(discord=DiscordSettings(token="x")))
    assert importlib.util.find_spec("discord")


async def test_the_account_that_owns_and_pays_can_be_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, joined=False, user="ada") as here:
        with pytest.raises(BadSettings, match="moot user add ada"):
            await command.build_discord_deps(here.services, here.settings)
        ada = await here.services.accounts.create_account("ada", "correct horse")
        premises = await command.build_discord_deps(here.services, here.settings)
        assert (premises.caller.account, premises.caller.tenant) == (ada.id, ada.tenant)
