from pathlib import Path

import pytest

from moot.testing.discord.guild import Upload
from tests.discord.bot_session import open_bot_session


async def test_named_participants_answer_in_order_visible_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief, scripted/other, scripted/echo")
        session.post_message("Beta and Alpha, what is a moot?")
        await session.wait_for_message("A brief answer.")
        assert session.visible_lines()[-2:] == [("Beta", "Another answer."), ("Alpha", "A brief answer.")]
        answer = next(one for one in session.general.messages if one["content"] == "A brief answer.")
        session.post_message("And why?", reply_to=answer)
        await session.fake_discord.wait_until(
            lambda: session.visible_lines()[-2:] == [("anna", "And why?"), ("Alpha", "A brief answer.")]
        )
        await session.wait_until_idle()
        messages = await session.services.discussions.list_messages(await session.discussion_id())
        assert all(one.visible_to is None for one in messages)


async def test_attachments_are_stored_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/echo")
        session.post_message("Read this.", files=[Upload("notes.txt", b"Four legs.")])
        await session.wait_for_message("Four legs.")
        [asked, _] = await session.services.discussions.list_messages(await session.discussion_id())
        [file] = asked.files or ()
        assert (await session.services.file_store.get_file("local", file)).name == "notes.txt"
        session.post_message("And this.", files=[Upload("tool.bin", b"\0\1\2")])
        await session.wait_for_message("tool.bin is no text in UTF-8, image or PDF")


async def test_empty_message_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.post_message(f"<@{session.fake_discord.guild.bot['id']}>")
        session.post_message("Well?")
        await session.wait_for_message("A brief answer.")
        await session.wait_until_idle()
        [asked, _] = await session.services.discussions.list_messages(await session.discussion_id())
        assert asked.content == "anna: Well?"
