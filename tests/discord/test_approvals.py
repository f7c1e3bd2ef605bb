from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from moot.discord.approvals import BUTTON_LABELS, ApprovalKey, OpenApprovals, parse_button_id
from moot.services.participants import Wanted
from moot.testing.discord.guild import Json
from moot.tools.config import ServerConfig
from moot.types.events import ApprovalWanted, ToolCalled
from tests.discord.parley import Parley, parley
from tests.tools.servers import at_an_address

WANTS = "wants to call `notes/write_down`"
WHERE: dict[str, Any] = {"participant": "alpha", "stage": "answer", "round": 0, "call_id": "call_1"}


@asynccontextmanager
async def writing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, *scripts: str
) -> AsyncIterator[tuple[Parley, Path]]:
    """Let a table with tools talk in the channel, and keep what they write down in a file."""
    notes = folder / "notes.txt"
    monkeypatch.setenv("NOTES", str(notes))
    async with (
        at_an_address() as url,
        parley(folder, monkeypatch, tools={"notes": ServerConfig(url=url)}) as here,
    ):
        await here.command("new", participants="scripted/brief")
        here.say("Hello.")
        await here.shown("A brief answer.")
        await here.over()
        wanted = [Wanted(model=f"scripted/{one}", tools=("notes",)) for one in scripts or ("writer",)]
        seats = await here.house.seating.resolve_participants("local", wanted)
        mode = "parallel" if len(seats) > 1 else "single"
        changes = {"participants": seats, "mode": mode}
        await here.house.discussions.update_discussion("local", await here.discussion(), changes)
        yield here, notes


async def asked_about(here: Parley, calls: int = 1) -> list[Json]:
    """Wait for questions that are open, until the bot knows that they have arrived."""
    await here.double.wait_until(lambda: len([1 for one in here.general.messages if labels(one)]) == calls)
    questions = [one for one in here.general.messages if labels(one)]
    ids = [one["id"] for one in questions]
    await here.until(lambda: here.house.channels.find_known_posts(ids), lambda arrived: len(arrived) == calls)
    return questions


def labels(message: Json) -> list[str]:
    return [button["label"] for row in message["components"] for button in row["components"]]


async def test_a_call_is_asked_about_and_allowed_by_a_button(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        asked = await here.shown(WANTS)
        assert labels(asked) == list(BUTTON_LABELS.values())
        assert not notes.exists()
        here.double.press_button(here.general, "anna", asked, "Allow")
        await here.shown("I was told: Written.")
        assert notes.read_text("utf-8") == "Round.\n"
        question = '**Alpha** wants to call `notes/write_down`, which may change something:\n```json\n{"text": "Round."}\n```'
        assert here.heard()[-3:] == [
            ("Alpha", "I keep that."),
            ("Moot", f"{question}\n-# Allowed."),
            ("Alpha", "I was told: Written."),
        ]
        assert labels(asked) == []


async def test_a_button_works_after_a_restart_and_only_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        asked = dict(await here.shown(WANTS))
        await here.leave()
        await here.join()
        here.double.press_button(here.general, "bert", asked, "Refuse")
        await here.shown("I was told: The person refused this call.")
        await here.shown("-# Refused.")
        before = len(here.double.rest.command_replies)
        here.double.press_button(here.general, "anna", asked, "Allow")
        await here.double.wait_until(lambda: len(here.double.rest.command_replies) > before)
        assert here.double.rest.command_replies[-1]["content"] == "Nobody waits for this answer any more."
        assert not notes.exists()
        assert len([1 for _, text in here.heard() if WANTS in text]) == 1


async def test_whoever_may_not_write_in_the_channel_cannot_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        [asked] = await asked_about(here)
        before = len(here.double.rest.command_replies)
        here.double.press_button(here.general, "reader", asked, "Allow", permissions="1024")
        await here.double.wait_until(lambda: len(here.double.rest.command_replies) > before)
        assert here.double.rest.command_replies[-1]["content"].startswith("Only those who may write")
        assert await here.command("refuse") == "Refused."
        await here.shown("I was told: The person refused")
        assert not notes.exists()


async def test_what_a_model_says_in_the_channel_allows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        await asked_about(here)
        [webhook] = here.double.guild.webhooks.values()
        moot = f"<@{here.double.guild.bot['id']}>"
        here.double.guild.post_as_webhook(webhook, {"content": f"{moot} allow", "username": "Beta"})
        assert "The table is speaking." in await here.command("status")
        assert await here.command("refuse") == "Refused."  # nobody has answered before
        await here.shown("I was told: The person refused")
        assert not notes.exists()


async def test_what_is_answered_on_the_page_or_stopped_is_told_in_the_channel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        asked = await here.shown(WANTS)
        read = parse_button_id(asked["components"][0]["components"][0]["custom_id"])
        assert read is not None
        caller = await here.house.accounts.ensure_local_account()
        await here.house.permissions.resolve_approval(caller, read[0].run_id, read[0].call_id, "allow")
        await here.shown("-# Allowed.")
        await here.shown("I was told: Written.")
        await here.over()
        here.say("And this.")
        await asked_about(here)
        here.say("stop")
        await here.shown("-# Stopped, so it was not called.")
        await here.over()
        assert notes.read_text("utf-8") == "Round.\n"


async def test_by_command_and_mention_where_it_is_clear_which_call_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch, "writer", "other-writer") as (here, notes):
        here.say("Keep this.")
        questions = await asked_about(here, calls=2)
        assert await here.command("allow") == "Several calls wait for an answer: use the buttons of each."
        [square] = [one for one in questions if "Square." in one["content"]]
        here.double.press_button(here.general, "anna", square, "Refuse")
        await here.shown("-# Refused.")
        here.say(f"<@{here.double.guild.bot['id']}> allow")
        await here.shown("I was told: Written.")
        await here.over()
        assert await here.command("allow") == "Nobody waits for an answer."
        assert notes.read_text("utf-8") == "Round.\n"


async def test_a_follow_up_waits_while_a_tool_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, notes):
        here.say("Keep this.")
        asked = await here.shown(WANTS)
        here.say("Wait for me!", who="bert")
        here.say("And quickly, please.")
        here.say("And this too.")
        await here.until(
            lambda: here.house.channels.pending_messages(here.general.id), lambda unsaid: len(unsaid) == 3
        )
        assert labels(asked) == list(BUTTON_LABELS.values())
        here.double.press_button(here.general, "anna", asked, "Allow in this discussion")
        await here.double.wait_until(
            lambda: [text for _, text in here.heard()].count("I was told: Written.") == 4
        )
        await here.over()
        said = await here.house.discussions.list_messages(await here.discussion())
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


async def test_whatever_goes_wrong_on_the_way_a_question_comes_once_and_is_settled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, _):
        messages = f"/channels/{here.general.id}/messages"
        here.double.faults.add_fault(f"POST {messages}", "lost")
        here.double.faults.add_fault(f"PATCH {messages}/", "lost")
        here.say("Keep this.")
        [asked] = await asked_about(here)
        here.double.press_button(here.general, "anna", asked, "Allow")
        await here.shown("I was told: Written.")
        assert [text[-8:] for _, text in here.heard() if WANTS in text] == ["Allowed."]


async def test_a_question_that_somebody_deletes_holds_nothing_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with writing(tmp_path, monkeypatch) as (here, _):
        here.say("Keep this.")
        [asked] = await asked_about(here)
        here.double.guild.delete_message(here.general, asked["id"])
        assert await here.command("allow") == "Allowed."
        await here.shown("I was told: Written.")


def test_a_button_carries_its_question() -> None:
    question = ApprovalKey("run_1", "call_1")
    assert parse_button_id(question.button_id("always")) == (question, "always")
    for other in ("", "moot:perhaps:run_1:call_1", "moot:allow:run_1", "x" + question.button_id("allow")):
        assert parse_button_id(other) is None


def test_long_arguments_are_cut_and_nothing_hides_in_them_or_ends_their_block() -> None:
    questions = OpenApprovals()
    questions.record_call(ToolCalled(name="notes/x`y", arguments="```\u202e\n" + "x" * 2000, **WHERE))
    asked = questions.open_approval(ApprovalWanted(name="notes/x`y", seconds=1.0, **WHERE), "*Al|pha*", 0)
    first, rest = asked.text.split("\n", 1)
    assert first == "**Alpha** wants to call `notes/x'y`, which may change something:"
    assert rest.startswith("```json\n`\u200b`\u200b`\\u202e\\u000axxx")
    assert rest.endswith("x … and 1,405 characters more: see the page\n```")
    assert rest.count("```") == 2
    assert len(asked.text) < 1000
