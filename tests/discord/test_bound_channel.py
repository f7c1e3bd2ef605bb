from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from unittest.mock import AsyncMock, MagicMock

import discord
import pytest

from moot.discord.bound_channel import DELIVERY_STOPPED_TEXT, BoundChannel
from moot.services.discussions import NewMessage
from moot.types.errors import RateLimited
from tests.discord.bot_session import BotSession, open_bot_session


async def test_follow_up_of_author_interrupts_run_and_drops_pending_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/hanging")
        session.post_message("Tell me all.")
        await session.wait_for_message("It begins.")
        session.post_message("Shortly, please.")
        await session.wait_for_message("Well then.")
        assert session.visible_lines()[-4:] == [
            ("anna", "Tell me all."),
            ("Alpha", "It begins."),
            ("anna", "Shortly, please."),
            ("Alpha", "Well then."),
        ]


async def test_follow_ups_are_queued_after_max_interrupts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/hanging")
        for times in range(1, 5):
            session.post_message(f"Tell me {times}.")
            await session.fake_discord.wait_until(
                lambda times=times: len([1 for _, text in session.visible_lines() if text == "It begins."]) == times  # type: ignore[misc]
            )
        session.post_message("Shortly, for me.", member="bert")
        session.post_message("Shortly, at last.")
        session.post_message("stop", member="bert")  # not the author
        await session.wait_until(
            lambda: session.worker.stores.channels.pending_messages(session.general.id),
            lambda pending: len(pending) == 3,
        )
        runs = await session.services.discussions.live_runs("local")
        assert len(runs) == 1
        session.post_message("stop")
        await session.fake_discord.wait_until(
            lambda: len([1 for _, text in session.visible_lines() if text == "Well then."]) == 2
        )
        messages = await session.services.discussions.list_messages(await session.discussion_id())
        asked = [one.content for one in messages if one.role == "user"]
        assert asked[:6] == [
            *(f"anna: Tell me {times}." for times in range(1, 5)),
            "bert: Shortly, for me.",
            "anna: Shortly, at last.",
        ]
        statuses = [one.status for one in messages if one.participant]
        assert statuses[:4] == ["interrupted", "interrupted", "interrupted", "stopped"]


async def test_stop_message_of_author_stops_run_and_keeps_partial_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/hanging")
        session.post_message("Tell me all.")
        await session.wait_for_message("It begins.")
        session.post_message("Enough!")
        await session.wait_for_message("And it w")
        await session.wait_until_idle()
        messages = await session.services.discussions.list_messages(await session.discussion_id())
        assert [(one.role, one.status) for one in messages] == [("user", "completed"), ("assistant", "stopped")]


@asynccontextmanager
async def open_slow_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BotSession]:
    """Open a session that delivers one message, then types for longer than a test takes."""
    monkeypatch.setattr("moot.discord.format.message_formatter.typing_seconds", lambda *_: 600.0)
    async with open_bot_session(folder, monkeypatch, delivery="typing") as session:
        yield session


@pytest.mark.parametrize("by_command", [False, True])
async def test_stop_cancels_delivery_of_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_command: bool
) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/one")
        session.post_message("Why?")
        await session.wait_for_message("The first word.")
        await session.wait_until_idle()
        if by_command:
            assert await session.run_command("stop") == "Stopped. The answers so far are kept."
        else:
            session.post_message("stop")
            await session.wait_for_message(DELIVERY_STOPPED_TEXT)
        await session.wait_until(session.is_fully_delivered, lambda delivered: delivered)
        assert ("Alpha", "And the second.") not in session.visible_lines()
        messages = await session.services.discussions.list_messages(await session.discussion_id())
        assert [(one.role, one.status) for one in messages] == [("user", "completed"), ("assistant", "completed")]


async def test_stop_delivers_partial_answer_without_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/hanging")
        session.post_message("Tell me all.")
        await session.wait_for_message("It begins.")
        session.post_message("stop")
        await session.wait_for_message("And it w")


async def test_new_message_skips_pauses_of_pending_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/one")
        session.post_message("Why?")
        await session.wait_for_message("The first word.")
        await session.wait_until_idle()
        session.post_message("And now?")
        await session.fake_discord.wait_until(
            lambda: [text for _, text in session.visible_lines()].count("The first word.") == 2
        )
        assert session.visible_lines()[-4:] == [
            ("Alpha", "The first word."),
            ("anna", "And now?"),
            ("Alpha", "And the second."),
            ("Alpha", "The first word."),
        ]


async def test_message_from_page_is_delivered_with_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Hello.")
        await session.wait_for_message("A brief answer.")
        await session.wait_until_idle()
        caller = await session.services.accounts.ensure_local_account()
        plan = await session.services.file_store.store_file(
            "local", caller.account, "plan.txt", "text/plain", "0", b"Oak."
        )
        message = NewMessage(discussion=await session.discussion_id(), message="From the page.", files=(plan.id,))
        await session.services.discussion_service.send_message(caller, message)
        expected = [
            ("local", "From the page."),
            ("local", "-# Attachments: plan.txt"),
            ("Alpha", "A brief answer."),
        ]
        await session.fake_discord.wait_until(lambda: session.visible_lines()[-3:] == expected)


async def test_queued_message_is_submitted_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        await session.stop_bot()
        asked = session.post_message("Did you hear that?")
        lost = session.post_message("And that?")
        await session.worker.stores.channels.enqueue_message(session.general.id, asked["id"])
        await session.worker.stores.channels.enqueue_message(session.general.id, lost["id"])
        session.fake_discord.guild.delete_message(session.general, lost["id"])
        await session.connect_bot()
        await session.wait_for_message("A brief answer.")
        assert await session.worker.stores.channels.pending_messages(session.general.id) == []


@pytest.mark.parametrize(("status", "forgotten"), [(503, False), (404, True)])
async def test_restore_queue_drops_message_only_when_deleted(status: int, forgotten: bool) -> None:
    kinds = {503: discord.DiscordServerError, 404: discord.NotFound}
    error = kinds[status](MagicMock(status=status), "")
    deps, channel = MagicMock(), MagicMock()
    deps.stores.channels.pending_messages = AsyncMock(return_value=["1"])
    deps.stores.channels.discard_message = AsyncMock()
    channel.fetch_message = AsyncMock(side_effect=error)
    bound = BoundChannel(deps, channel, MagicMock(), MagicMock(), None)
    with nullcontext() if forgotten else pytest.raises(discord.DiscordServerError):
        await bound._restore_queue()
    assert deps.stores.channels.discard_message.called is forgotten


async def test_rate_limited_message_is_rejected_and_not_queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:

        async def raise_rate_limited(_: str) -> None:
            raise RateLimited("These are too many messages at once: try again in 6 s.", retry_after=6.0)

        monkeypatch.setattr(session.services.rate_limits, "count_message", raise_rate_limited)
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Again!")
        await session.wait_for_message("These are too many messages at once: try again in 6 s.")
        assert await session.worker.stores.channels.pending_messages(session.general.id) == []


async def test_channel_memory_is_used_in_next_discussion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.post_message("My cat is called Mia.")
        await session.fake_discord.wait_until(lambda: any(who == "Alpha" for who, _ in session.visible_lines()))
        await session.wait_until_idle()
        first = await session.discussion_id()
        await session.run_command("new", participants="scripted/brief")
        session.post_message("What is my cat called?")
        await session.fake_discord.wait_until(
            lambda: len([1 for who, _ in session.visible_lines() if who == "Alpha"]) == 2
        )
        await session.wait_until_idle()
        second = await session.discussion_id()
        assert second != first
        messages = await session.services.discussions.list_messages(second)
        answer = next(one for one in messages if one.participant)
        replay = await session.services.prompt_replay.replay_prompt("local", answer)
        remembered = [one.part.text for one in replay.prompt_pieces() if one.origin == "memory"]  # type: ignore[union-attr]
        assert len(remembered) == 1
        assert "- anna: My cat is called Mia." in remembered[0]
        assert "What is my cat called?" not in remembered[0]
