from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moot.discord.approvals import BUTTON_LABELS, ApprovalKey, OpenApprovals, parse_button_id
from moot.services.participants import ParticipantInput
from moot.testing.discord.guild import Json
from moot.tools.config import ServerConfig
from moot.types.events import ApprovalRequested, ToolCalled
from tests.discord.bot_session import BotSession, open_bot_session
from tests.support.tool_servers import serve_http_tools

PROMPT_TEXT = "wants to call `notes/write_down`"
TURN_FIELDS: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0, "call_id": "call_1"}


@asynccontextmanager
async def open_session_with_tools(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *scripts: str
) -> AsyncIterator[tuple[BotSession, Path]]:
    """Let a table with tools talk in the channel, and keep what they write down in a file."""
    notes = folder / "notes.txt"
    monkeypatch.setenv("NOTES", str(notes))
    async with (
        serve_http_tools() as url,
        open_bot_session(folder, monkeypatch, tools={"notes": ServerConfig(url=url)}) as here,
    ):
        await here.run_command("new", participants="scripted/brief")
        here.post_message("Hello.")
        await here.wait_for_message("A brief answer.")
        await here.wait_until_idle()
        wanted = [ParticipantInput(model=f"scripted/{one}", tools=("notes",)) for one in scripts or ("writer",)]
        seats = await here.services.participant_resolver.resolve_participants("local", wanted)
        mode = "parallel" if len(seats) > 1 else "single"
        changes = {"participants": seats, "mode": mode}
        await here.services.discussions.update_discussion("local", await here.discussion_id(), changes)
        yield here, notes


async def wait_for_prompts(session: BotSession, count: int = 1) -> list[Json]:
    """Wait for questions that are open, until the bot knows that they have arrived."""
    await session.fake_discord.wait_until(
        lambda: len([1 for one in session.general.messages if button_labels(one)]) == count
    )
    questions = [one for one in session.general.messages if button_labels(one)]
    ids = [one["id"] for one in questions]
    await session.wait_until(
        lambda: session.worker.stores.channels.find_known_posts(ids), lambda arrived: len(arrived) == count
    )
    return questions


def button_labels(message: Json) -> list[str]:
    return [button["label"] for row in message["components"] for button in row["components"]]


async def test_button_allows_tool_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        asked = await here.wait_for_message(PROMPT_TEXT)
        assert button_labels(asked) == list(BUTTON_LABELS.values())
        assert not notes.exists()
        here.fake_discord.press_button(here.general, "anna", asked, "Allow")
        await here.wait_for_message("I was told: Written.")
        assert notes.read_text("utf-8") == "Round.\n"
        question = (
            '**Alpha** wants to call `notes/write_down`, which may change something:\n```json\n{"text": "Round."}\n```'
        )
        assert here.visible_lines()[-3:] == [
            ("Alpha", "I keep that."),
            ("Moot", f"{question}\n-# Allowed."),
            ("Alpha", "I was told: Written."),
        ]
        assert button_labels(asked) == []


async def test_button_works_once_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        asked = dict(await here.wait_for_message(PROMPT_TEXT))
        await here.stop_bot()
        await here.connect_bot()
        here.fake_discord.press_button(here.general, "bert", asked, "Refuse")
        await here.wait_for_message("I was told: The person refused this call.")
        await here.wait_for_message("-# Refused.")
        before = len(here.fake_discord.rest.command_replies)
        here.fake_discord.press_button(here.general, "anna", asked, "Allow")
        await here.fake_discord.wait_until(lambda: len(here.fake_discord.rest.command_replies) > before)
        assert here.fake_discord.rest.command_replies[-1]["content"] == "This tool call no longer waits for approval."
        assert not notes.exists()
        assert len([1 for _, text in here.visible_lines() if PROMPT_TEXT in text]) == 1


async def test_button_is_rejected_for_member_without_write_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        [asked] = await wait_for_prompts(here)
        before = len(here.fake_discord.rest.command_replies)
        here.fake_discord.press_button(here.general, "reader", asked, "Allow", permissions="1024")
        await here.fake_discord.wait_until(lambda: len(here.fake_discord.rest.command_replies) > before)
        assert here.fake_discord.rest.command_replies[-1]["content"].startswith("Only members who can write")
        assert await here.run_command("refuse") == "Refused."
        await here.wait_for_message("I was told: The person refused")
        assert not notes.exists()


async def test_webhook_message_cannot_approve_tool_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        await wait_for_prompts(here)
        [webhook] = here.fake_discord.guild.webhooks.values()
        moot = f"<@{here.fake_discord.guild.bot['id']}>"
        here.fake_discord.guild.post_as_webhook(webhook, {"content": f"{moot} allow", "username": "Beta"})
        assert "A run is active." in await here.run_command("status")
        assert await here.run_command("refuse") == "Refused."  # nobody has answered before
        await here.wait_for_message("I was told: The person refused")
        assert not notes.exists()


async def test_approval_resolved_on_page_or_by_stop_updates_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        asked = await here.wait_for_message(PROMPT_TEXT)
        read = parse_button_id(asked["components"][0]["components"][0]["custom_id"])
        assert read is not None
        caller = await here.services.accounts.ensure_local_account()
        await here.services.approvals.resolve_approval(caller, read[0].run_id, read[0].call_id, "allow")
        await here.wait_for_message("-# Allowed.")
        await here.wait_for_message("I was told: Written.")
        await here.wait_until_idle()
        here.post_message("And this.")
        await wait_for_prompts(here)
        here.post_message("stop")
        await here.wait_for_message("-# Stopped. The tool was not called.")
        await here.wait_until_idle()
        assert notes.read_text("utf-8") == "Round.\n"


async def test_command_and_mention_resolve_only_open_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch, "writer", "other-writer") as (here, notes):
        here.post_message("Keep this.")
        questions = await wait_for_prompts(here, count=2)
        assert await here.run_command("allow") == "Several tool calls wait for approval. Use their buttons."
        [square] = [one for one in questions if "Square." in one["content"]]
        here.fake_discord.press_button(here.general, "anna", square, "Refuse")
        await here.wait_for_message("-# Refused.")
        here.post_message(f"<@{here.fake_discord.guild.bot['id']}> allow")
        await here.wait_for_message("I was told: Written.")
        await here.wait_until_idle()
        assert await here.run_command("allow") == "No tool call waits for approval."
        assert notes.read_text("utf-8") == "Round.\n"


async def test_follow_up_is_queued_while_tool_call_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, notes):
        here.post_message("Keep this.")
        asked = await here.wait_for_message(PROMPT_TEXT)
        here.post_message("Wait for me!", member="bert")
        here.post_message("And quickly, please.")
        here.post_message("And this too.")
        await here.wait_until(
            lambda: here.worker.stores.channels.pending_messages(here.general.id), lambda unsaid: len(unsaid) == 3
        )
        assert button_labels(asked) == list(BUTTON_LABELS.values())
        here.fake_discord.press_button(here.general, "anna", asked, "Allow in this discussion")
        await here.fake_discord.wait_until(
            lambda: [text for _, text in here.visible_lines()].count("I was told: Written.") == 4
        )
        await here.wait_until_idle()
        said = await here.services.discussions.list_messages(await here.discussion_id())
        assert [(one.content, one.status) for one in said[2:]] == [
            ("anna: Keep this.", "completed"),
            ("I keep that.\n\nI was told: Written.", "completed"),
            ("anna: And quickly, please.", "completed"),
            ("I keep that.\n\nI was told: Written.", "completed"),
            ("anna: And this too.", "completed"),
            ("I keep that.\n\nI was told: Written.", "completed"),
            ("bert: Wait for me!", "completed"),
            ("I keep that.\n\nI was told: Written.", "completed"),
        ]
        assert notes.read_text("utf-8") == "Round.\n" * 4


async def test_lost_responses_do_not_duplicate_approval_prompt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, _):
        messages = f"/channels/{here.general.id}/messages"
        here.fake_discord.faults.add_fault(f"POST {messages}", "lost")
        here.fake_discord.faults.add_fault(f"PATCH {messages}/", "lost")
        here.post_message("Keep this.")
        [asked] = await wait_for_prompts(here)
        here.fake_discord.press_button(here.general, "anna", asked, "Allow")
        await here.wait_for_message("I was told: Written.")
        assert [text[-8:] for _, text in here.visible_lines() if PROMPT_TEXT in text] == ["Allowed."]


async def test_deleted_approval_prompt_does_not_block_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (here, _):
        here.post_message("Keep this.")
        [asked] = await wait_for_prompts(here)
        here.fake_discord.guild.delete_message(here.general, asked["id"])
        assert await here.run_command("allow") == "Allowed."
        await here.wait_for_message("I was told: Written.")


def test_button_id_round_trips_approval_key() -> None:
    question = ApprovalKey("run_1", "call_1")
    assert parse_button_id(question.button_id("always")) == (question, "always")
    for other in ("", "moot:perhaps:run_1:call_1", "moot:allow:run_1", "x" + question.button_id("allow")):
        assert parse_button_id(other) is None


def test_approval_text_truncates_and_escapes_arguments() -> None:
    questions = OpenApprovals()
    questions.record_call(ToolCalled(name="notes/x`y", arguments="```\u202e\n" + "x" * 2000, **TURN_FIELDS))
    asked = questions.open_approval(
        ApprovalRequested(name="notes/x`y", timeout_seconds=1.0, **TURN_FIELDS), "*Al|pha*", 0
    )
    first, rest = asked.text.split("\n", 1)
    assert first == "**Alpha** wants to call `notes/x'y`, which may change something:"
    assert rest.startswith("```json\n`\u200b`\u200b`\\u202e\\u000axxx")
    assert rest.endswith("x … and 1,405 more characters: see the page\n```")
    assert rest.count("```") == 2
    assert len(asked.text) < 1000
