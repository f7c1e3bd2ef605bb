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
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/hanging")
        here.post_message("Tell me all.")
        await here.wait_for_message("It begins.")
        here.post_message("Shortly, please.")
        await here.wait_for_message("Well then.")
        assert here.visible_lines()[-4:] == [
            ("anna", "Tell me all."),
            ("Alpha", "It begins."),
            ("anna", "Shortly, please."),
            ("Alpha", "Well then."),
        ]


async def test_follow_ups_are_queued_after_max_interrupts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/hanging")
        for times in range(1, 5):
            here.post_message(f"Tell me {times}.")
            await here.fake_discord.wait_until(
                lambda times=times: len([1 for _, text in here.visible_lines() if text == "It begins."]) == times  # type: ignore[misc]
            )
        here.post_message("Shortly, for me.", member="bert")
        here.post_message("Shortly, at last.")
        here.post_message("stop", member="bert")  # who is not the one who asked
        await here.wait_until(
            lambda: here.worker.stores.channels.pending_messages(here.general.id), lambda unsaid: len(unsaid) == 3
        )
        runs = await here.services.discussions.live_runs("local")
        assert len(runs) == 1
        here.post_message("stop")
        await here.fake_discord.wait_until(
            lambda: len([1 for _, text in here.visible_lines() if text == "Well then."]) == 2
        )
        said = await here.services.discussions.list_messages(await here.discussion_id())
        asked = [one.content for one in said if one.role == "user"]
        assert asked[:6] == [
            *(f"anna: Tell me {times}." for times in range(1, 5)),
            "bert: Shortly, for me.",
            "anna: Shortly, at last.",
        ]
        statuses = [one.status for one in said if one.participant]
        assert statuses[:4] == ["interrupted", "interrupted", "interrupted", "stopped"]


async def test_stop_message_of_author_stops_run_and_keeps_partial_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/hanging")
        here.post_message("Tell me all.")
        await here.wait_for_message("It begins.")
        here.post_message("Enough!")
        await here.wait_for_message("And it w")
        await here.wait_until_idle()
        said = await here.services.discussions.list_messages(await here.discussion_id())
        assert [(one.role, one.status) for one in said] == [("user", "completed"), ("assistant", "stopped")]


@asynccontextmanager
async def open_slow_session(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[BotSession]:
    """Tell one message, and then type for longer than anybody waits."""
    monkeypatch.setattr("moot.discord.format.pipeline.typing_seconds", lambda *_: 600.0)
    async with open_bot_session(folder, monkeypatch, delivery="typing") as here:
        yield here


@pytest.mark.parametrize("by_command", [False, True])
async def test_stop_cancels_delivery_of_finished_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, by_command: bool
) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/one")
        here.post_message("Why?")
        await here.wait_for_message("The first word.")
        await here.wait_until_idle()
        if by_command:
            assert await here.run_command("stop") == "Stopped. The answers so far are kept."
        else:
            here.post_message("stop")
            await here.wait_for_message(DELIVERY_STOPPED_TEXT)
        await here.wait_until(here.is_fully_delivered, lambda told: told)
        assert ("Alpha", "And the second.") not in here.visible_lines()
        said = await here.services.discussions.list_messages(await here.discussion_id())
        assert [(one.role, one.status) for one in said] == [("user", "completed"), ("assistant", "completed")]


async def test_stop_delivers_partial_answer_without_pauses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/hanging")
        here.post_message("Tell me all.")
        await here.wait_for_message("It begins.")
        here.post_message("stop")
        await here.wait_for_message("And it w")


async def test_new_message_skips_pauses_of_pending_delivery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_slow_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/one")
        here.post_message("Why?")
        await here.wait_for_message("The first word.")
        await here.wait_until_idle()
        here.post_message("And now?")
        await here.fake_discord.wait_until(
            lambda: [text for _, text in here.visible_lines()].count("The first word.") == 2
        )
        assert here.visible_lines()[-4:] == [
            ("Alpha", "The first word."),
            ("anna", "And now?"),
            ("Alpha", "And the second."),
            ("Alpha", "The first word."),
        ]


async def test_message_from_page_is_delivered_with_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.post_message("Hello.")
        await here.wait_for_message("A brief answer.")
        await here.wait_until_idle()
        caller = await here.services.accounts.ensure_local_account()
        plan = await here.services.file_store.store_file(
            "local", caller.account, "plan.txt", "text/plain", "0", b"Oak."
        )
        saying = NewMessage(discussion=await here.discussion_id(), message="From the page.", files=(plan.id,))
        await here.services.discussion_service.send_message(caller, saying)
        told = [
            ("local", "From the page."),
            ("local", "-# Attachments: plan.txt"),
            ("Alpha", "A brief answer."),
        ]
        await here.fake_discord.wait_until(lambda: here.visible_lines()[-3:] == told)


async def test_queued_message_is_submitted_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        await here.stop_bot()
        asked = here.post_message("Did you hear that?")
        lost = here.post_message("And that?")
        await here.worker.stores.channels.enqueue_message(here.general.id, asked["id"])
        await here.worker.stores.channels.enqueue_message(here.general.id, lost["id"])
        here.fake_discord.guild.delete_message(here.general, lost["id"])
        await here.connect_bot()
        await here.wait_for_message("A brief answer.")
        assert await here.worker.stores.channels.pending_messages(here.general.id) == []


@pytest.mark.parametrize(("status", "forgotten"), [(503, False), (404, True)])
async def test_restore_queue_drops_message_only_when_deleted(status: int, forgotten: bool) -> None:
    kinds = {503: discord.DiscordServerError, 404: discord.NotFound}
    trouble = kinds[status](MagicMock(status=status), "")
    premises, channel = MagicMock(), MagicMock()
    premises.channels.pending_messages = AsyncMock(return_value=["1"])
    premises.channels.discard_message = AsyncMock()
    channel.fetch_message = AsyncMock(side_effect=trouble)
    bound = BoundChannel(premises, channel, MagicMock(), MagicMock(), None)
    with nullcontext() if forgotten else pytest.raises(discord.DiscordServerError):
        await bound._restore_queue()
    assert premises.channels.discard_message.called is forgotten


async def test_rate_limited_message_is_rejected_and_not_queued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:

        async def raise_rate_limited(_: str) -> None:
            raise RateLimited("These are too many messages at once: try again in 6 s.", retry_after=6.0)

        monkeypatch.setattr(here.services.rate_limits, "count_message", raise_rate_limited)
        await here.run_command("new", participants="scripted/brief")
        here.post_message("Again!")
        await here.wait_for_message("These are too many messages at once: try again in 6 s.")
        assert await here.worker.stores.channels.pending_messages(here.general.id) == []


async def test_channel_memory_is_used_in_next_discussion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.post_message("My cat is called Mia.")
        await here.fake_discord.wait_until(lambda: any(who == "Alpha" for who, _ in here.visible_lines()))
        await here.wait_until_idle()
        first = await here.discussion_id()
        await here.run_command("new", participants="scripted/brief")
        here.post_message("What is my cat called?")
        await here.fake_discord.wait_until(lambda: len([1 for who, _ in here.visible_lines() if who == "Alpha"]) == 2)
        await here.wait_until_idle()
        second = await here.discussion_id()
        assert second != first
        said = await here.services.discussions.list_messages(second)
        answer = next(one for one in said if one.participant)
        told = await here.services.prompt_replay.replay_prompt("local", answer)
        remembered = [one.part.text for one in told.prompt_pieces() if one.origin == "memory"]  # type: ignore[union-attr]
        assert len(remembered) == 1
        assert "- anna: My cat is called Mia." in remembered[0]
        assert "What is my cat called?" not in remembered[0]
