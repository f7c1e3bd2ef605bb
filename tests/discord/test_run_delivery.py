from pathlib import Path

import pytest

from moot.discord.run_delivery import format_reply_notice
from tests.discord.bot_session import BlockingSleep, open_bot_session


async def test_reasoning_is_sent_only_to_reasoning_channel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False) as session:
        session.use_reasoning_channel(session.other_channel)
        await session.connect_bot()
        await session.run_command("new", participants="scripted/thinker")
        session.post_message("Well?")
        await session.wait_for_message("So be it.")
        await session.fake_discord.wait_for_message(session.other_channel, "Hm, let me see.")
        assert session.fake_discord.channel_lines(session.other_channel) == [("Alpha", "Hm, let me see.")]
        assert ("Alpha", "Hm, let me see.") not in session.visible_lines()


async def test_deleted_reasoning_channel_does_not_affect_delivery(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, connected=False) as session:
        session.use_reasoning_channel(session.other_channel)
        await session.connect_bot()
        await session.run_command("new", participants="scripted/thinker, scripted/thinker", mode="parallel")
        session.fake_discord.guild.remove_channel(session.other_channel)
        session.post_message("Well?")
        await session.fake_discord.wait_until(
            lambda: len([1 for _, text in session.visible_lines() if text == "So be it."]) == 2
        )
        await session.wait_until(session.is_fully_delivered, lambda delivered: delivered)
        [binding] = await session.worker.stores.channels.list_bindings("local")
        assert binding.error is None
        assert "reasoning channel closed" in caplog.text


async def test_block_impersonation_setting_cuts_text_of_other_speaker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch, block_impersonation=True) as session:
        await session.run_command("new", participants="scripted/puppeteer, scripted/brief", mode="consensus", rounds=1)
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")
        assert session.visible_lines()[-2:] == [("Alpha", "I say yes."), ("Beta", "A brief answer.")]


async def test_table_is_sent_as_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/tabular")
        session.post_message("Which wood?")
        await session.wait_for_message("That is all.")
        assert session.visible_lines()[-3:] == [
            ("Alpha", "Look:"),
            ("Alpha", "[table.png]"),
            ("Alpha", "That is all."),
        ]
        [picture] = session.fake_discord.guild.uploads.values()
        assert picture.data.startswith(b"\x89PNG")


async def test_whiteboard_image_is_sent_after_lesson(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/teacher, scripted/student", mode="directed")
        session.post_message("Why does a table stand?")
        await session.fake_discord.wait_until(
            lambda: any("whiteboard.png" in text for _, text in session.visible_lines())
        )
        await session.wait_until_idle()
        await session.run_command("whiteboard")
        assert session.fake_discord.rest.command_replies[-1]["files"] == ["whiteboard.png"]


async def test_text_that_turns_out_to_be_reasoning_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        sleep = BlockingSleep(monkeypatch, seconds=1.0)
        await session.run_command("new", participants="scripted/retracting")
        session.post_message("Do you think so?")
        await session.wait_for_message("I think so.")
        sleep.released.set()
        await session.wait_for_message("Yes.")
        await session.wait_until_idle()
        assert session.visible_lines()[-1] == ("Alpha", "Yes.")
        assert ("Alpha", "I think so.") not in session.visible_lines()


async def test_failed_turn_sends_error_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/failing")
        session.post_message("Well?")
        await session.wait_for_message("-# Alpha failed: ")


@pytest.mark.parametrize("times", [1, 2, *(pytest.param(times, marks=pytest.mark.slow) for times in (3, 4))])
async def test_restart_neither_duplicates_nor_loses_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        # Discord stores the message, but the reply is lost.
        session.fake_discord.faults.add_fault("POST /webhooks/", "lost", skip=times)
        await session.run_command("new", participants="scripted/one, scripted/one")
        session.post_message("Why?")
        before = 2 + times
        await session.fake_discord.wait_until(lambda: len(session.general.messages) >= before)
        await session.stop_bot()
        await session.connect_bot()
        await session.fake_discord.wait_until(
            lambda: [text for _, text in session.visible_lines()].count("And the second.") == 2
        )
        await session.wait_until(session.is_fully_delivered, lambda delivered: delivered)
        assert sorted(session.visible_lines()[-4:]) == [
            ("Alpha", "And the second."),
            ("Alpha", "The first word."),
            ("Beta", "And the second."),
            ("Beta", "The first word."),
        ]
        assert len(session.general.messages) == 7


async def test_typing_delivery_keeps_message_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch, delivery="typing") as session:
        await session.run_command("new", participants="scripted/one")
        session.post_message("Why?")
        await session.wait_for_message("And the second.")
        assert session.visible_lines()[-2:] == [("Alpha", "The first word."), ("Alpha", "And the second.")]
        assert session.general.typing_count >= 1


async def test_typing_indicator_is_refreshed_while_turn_is_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("moot.discord.run_delivery.TYPING_SECONDS", 0.05)
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/hanging")
        session.post_message("Tell me all.")
        await session.wait_for_message("It begins.")
        typed = session.general.typing_count
        await session.fake_discord.wait_until(lambda: session.general.typing_count > typed + 2)
        await session.run_command("stop")
        await session.wait_until_idle()


async def test_typing_indicator_is_not_sent_for_every_delta(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moot.discord.run_delivery.TYPING_SECONDS", 600.0)
    async with open_bot_session(tmp_path, monkeypatch) as session:
        sleep = BlockingSleep(monkeypatch, seconds=0.2)
        await session.run_command("new", participants="scripted/dribbling")
        session.post_message("Drip?")
        await session.fake_discord.wait_until(lambda: session.general.typing_count == 1)
        sleep.released.set()
        await session.wait_for_message("drop.")
        assert session.general.typing_count == 1


def test_reply_notice_truncates_long_question() -> None:
    notice = format_reply_notice("anna", "why\n" * 40, "https://x")
    assert notice == f"-# Replying to anna: {('why ' * 20).strip()}… (https://x)"


def test_reply_notice_removes_code_fences() -> None:
    notice = format_reply_notice("anna", "Why?\n```py\n" + "x" * 90 + "\n```", "https://x")
    assert notice == f"-# Replying to anna: Why? py {'x' * 72}… (https://x)"
