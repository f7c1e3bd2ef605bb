from pathlib import Path

import pytest

from tests.discord.parley import parley


async def test_a_message_in_a_bound_channel_is_answered_under_the_names_of_the_participants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        told = await here.command("new", participants="sceptic = scripted/one")
        assert told == (
            "At the table: Sceptic (scripted/one). Mode: single.\nWhat you write next begins the discussion."
        )
        asked = here.say("Why are tables round?")
        await here.shown("And the second.")
        shown = here.double.channel_lines(here.general)
        link = f"https://discord.com/channels/{here.double.guild.id}/{here.general.id}"
        assert shown[-4:] == [
            ("anna", "Why are tables round?"),
            ("Sceptic", f"-# Replying to anna: Why are tables round? ({link}/{asked['id']})"),
            ("Sceptic", "The first word."),
            ("Sceptic", "And the second."),
        ]
        assert "cdn.discordapp.com/embed/avatars" in here.general.messages[-1]["shown_avatar"]


async def test_nobody_is_heard_where_nothing_is_bound_and_a_mention_is_told_how_to_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        here.say("Hello?")
        here.say(f"<@{here.double.guild.bot['id']}> hello?")
        await here.shown("begin with `/moot new`")
        assert len(here.heard()) == 3


async def test_after_a_cut_the_session_goes_on_and_nothing_that_was_said_meanwhile_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief")
        here.double.gateway.abort_connections()
        here.say("Are you there?")
        await here.shown("A brief answer.")
        assert (here.double.gateway.identify_count, here.double.gateway.resume_count) == (1, 1)


async def test_channels_are_taken_up_again_after_a_restart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief, scripted/other")
        await here.leave()
        await here.join()
        here.say("Well?")
        await here.shown("A brief answer.")
        await here.shown("Another answer.")


async def test_a_channel_that_is_deleted_is_told_of_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        other = here.double.guild.channels[here.aside.id]
        await here.command("new", participants="scripted/brief")
        here.double.guild.remove_channel(here.general)
        status = await here.command("status", channel=other)
        while "Nothing is sent to" not in status:
            status = await here.command("status", channel=other)
        assert f"Nothing is sent to <#{here.general.id}>: The channel is gone." in status


async def test_commands_are_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        [moot] = here.double.rest.registered_commands
        assert moot["name"] == "moot"
        assert [one["name"] for one in moot["options"]] == [
            "new",
            "mode",
            "participants",
            "persona",
            "stop",
            "allow",
            "refuse",
            "status",
            "whiteboard",
        ]
