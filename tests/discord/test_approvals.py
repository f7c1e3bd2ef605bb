from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moot.discord.approvals import BUTTON_LABELS, ApprovalKey, OpenApprovals, parse_button_id
from moot.services.run_plans import ParticipantInput
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
    """Open a session whose participants have tools. The tools write to a file."""
    notes = folder / "notes.txt"
    monkeypatch.setenv("NOTES", str(notes))
    async with (
        serve_http_tools() as url,
        open_bot_session(folder, monkeypatch, tools={"notes": ServerConfig(url=url)}) as session,
    ):
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Hello.")
        await session.wait_for_message("A brief answer.")
        await session.wait_until_idle()
        wanted = [ParticipantInput(model=f"scripted/{one}", tools=("notes",)) for one in scripts or ("writer",)]
        participants = await session.services.run_planner.assign_participants("local", wanted)
        mode = "parallel" if len(participants) > 1 else "single"
        changes = {"participants": participants, "mode": mode}
        await session.services.discussions.update_discussion("local", await session.discussion_id(), changes)
        yield session, notes


async def wait_for_prompts(session: BotSession, count: int = 1) -> list[Json]:
    """Wait for `count` open questions whose posts the bot has stored."""
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
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        asked = await session.wait_for_message(PROMPT_TEXT)
        assert button_labels(asked) == list(BUTTON_LABELS.values())
        assert not notes.exists()
        session.fake_discord.press_button(session.general, "anna", asked, "Allow")
        await session.wait_for_message("I was told: Written.")
        assert notes.read_text("utf-8") == "Round.\n"
        question = (
            '**Alpha** wants to call `notes/write_down`, which may change something:\n```json\n{"text": "Round."}\n```'
        )
        assert session.visible_lines()[-3:] == [
            ("Alpha", "I keep that."),
            ("Moot", f"{question}\n-# Allowed."),
            ("Alpha", "I was told: Written."),
        ]
        assert button_labels(asked) == []


async def test_button_works_once_after_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        asked = dict(await session.wait_for_message(PROMPT_TEXT))
        await session.stop_bot()
        await session.connect_bot()
        session.fake_discord.press_button(session.general, "bert", asked, "Refuse")
        await session.wait_for_message("I was told: The person refused this call.")
        await session.wait_for_message("-# Refused.")
        before = len(session.fake_discord.rest.command_replies)
        session.fake_discord.press_button(session.general, "anna", asked, "Allow")
        await session.fake_discord.wait_until(lambda: len(session.fake_discord.rest.command_replies) > before)
        assert (
            session.fake_discord.rest.command_replies[-1]["content"] == "This tool call no longer waits for approval."
        )
        assert not notes.exists()
        assert len([1 for _, text in session.visible_lines() if PROMPT_TEXT in text]) == 1


async def test_button_is_rejected_for_member_without_write_permission(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        [asked] = await wait_for_prompts(session)
        before = len(session.fake_discord.rest.command_replies)
        session.fake_discord.press_button(session.general, "reader", asked, "Allow", permissions="1024")
        await session.fake_discord.wait_until(lambda: len(session.fake_discord.rest.command_replies) > before)
        assert session.fake_discord.rest.command_replies[-1]["content"].startswith("Only members who can write")
        assert await session.run_command("refuse") == "Refused."
        await session.wait_for_message("I was told: The person refused")
        assert not notes.exists()


async def test_webhook_message_cannot_approve_tool_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        await wait_for_prompts(session)
        [webhook] = session.fake_discord.guild.webhooks.values()
        moot = f"<@{session.fake_discord.guild.bot['id']}>"
        session.fake_discord.guild.post_as_webhook(webhook, {"content": f"{moot} allow", "username": "Beta"})
        assert "A run is active." in await session.run_command("status")
        assert await session.run_command("refuse") == "Refused."  # the question is still open
        await session.wait_for_message("I was told: The person refused")
        assert not notes.exists()


async def test_approval_resolved_on_page_or_by_stop_updates_prompt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        asked = await session.wait_for_message(PROMPT_TEXT)
        read = parse_button_id(asked["components"][0]["components"][0]["custom_id"])
        assert read is not None
        caller = await session.services.accounts.ensure_local_account()
        await session.services.approvals.resolve_approval(caller, read[0].run_id, read[0].call_id, "allow")
        await session.wait_for_message("-# Allowed.")
        await session.wait_for_message("I was told: Written.")
        await session.wait_until_idle()
        session.post_message("And this.")
        await wait_for_prompts(session)
        session.post_message("stop")
        await session.wait_for_message("-# Stopped. The tool was not called.")
        await session.wait_until_idle()
        assert notes.read_text("utf-8") == "Round.\n"


async def test_command_and_mention_resolve_only_open_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch, "writer", "other-writer") as (session, notes):
        session.post_message("Keep this.")
        questions = await wait_for_prompts(session, count=2)
        assert await session.run_command("allow") == "Several tool calls wait for approval. Use their buttons."
        [square] = [one for one in questions if "Square." in one["content"]]
        session.fake_discord.press_button(session.general, "anna", square, "Refuse")
        await session.wait_for_message("-# Refused.")
        session.post_message(f"<@{session.fake_discord.guild.bot['id']}> allow")
        await session.wait_for_message("I was told: Written.")
        await session.wait_until_idle()
        assert await session.run_command("allow") == "No tool call waits for approval."
        assert notes.read_text("utf-8") == "Round.\n"


async def test_follow_up_is_queued_while_tool_call_is_pending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, notes):
        session.post_message("Keep this.")
        asked = await session.wait_for_message(PROMPT_TEXT)
        session.post_message("Wait for me!", member="bert")
        session.post_message("And quickly, please.")
        session.post_message("And this too.")
        await session.wait_until(
            lambda: session.worker.stores.channels.pending_messages(session.general.id),
            lambda pending: len(pending) == 3,
        )
        assert button_labels(asked) == list(BUTTON_LABELS.values())
        session.fake_discord.press_button(session.general, "anna", asked, "Allow in this discussion")
        await session.fake_discord.wait_until(
            lambda: [text for _, text in session.visible_lines()].count("I was told: Written.") == 4
        )
        await session.wait_until_idle()
        messages = await session.services.discussions.list_messages(await session.discussion_id())
        assert [(one.content, one.status) for one in messages[2:]] == [
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
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, _):
        messages = f"/channels/{session.general.id}/messages"
        session.fake_discord.faults.add_fault(f"POST {messages}", "lost")
        session.fake_discord.faults.add_fault(f"PATCH {messages}/", "lost")
        session.post_message("Keep this.")
        [asked] = await wait_for_prompts(session)
        session.fake_discord.press_button(session.general, "anna", asked, "Allow")
        await session.wait_for_message("I was told: Written.")
        assert [text[-8:] for _, text in session.visible_lines() if PROMPT_TEXT in text] == ["Allowed."]


async def test_deleted_approval_prompt_does_not_block_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_session_with_tools(tmp_path, monkeypatch) as (session, _):
        session.post_message("Keep this.")
        [asked] = await wait_for_prompts(session)
        session.fake_discord.guild.delete_message(session.general, asked["id"])
        assert await session.run_command("allow") == "Allowed."
        await session.wait_for_message("I was told: Written.")


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
