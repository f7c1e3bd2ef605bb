from pathlib import Path

import pytest

from moot.testing.discord.guild import Upload
from tests.discord.bot_session import open_bot_session


async def test_named_participants_answer_in_order_visible_to_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief, scripted/other, scripted/echo")
        here.post_message("Beta and Alpha, what is a moot?")
        await here.wait_for_message("A brief answer.")
        assert here.visible_lines()[-2:] == [("Beta", "Another answer."), ("Alpha", "A brief answer.")]
        answer = next(one for one in here.general.messages if one["content"] == "A brief answer.")
        here.post_message("And why?", reply_to=answer)
        await here.fake_discord.wait_until(
            lambda: here.visible_lines()[-2:] == [("anna", "And why?"), ("Alpha", "A brief answer.")]
        )
        await here.wait_until_idle()
        said = await here.services.discussions.list_messages(await here.discussion_id())
        assert all(one.visible_to is None for one in said)


async def test_attachments_are_stored_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/echo")
        here.post_message("Read this.", files=[Upload("notes.txt", b"Four legs.")])
        await here.wait_for_message("Four legs.")
        [asked, _] = await here.services.discussions.list_messages(await here.discussion_id())
        [file] = asked.files or ()
        assert (await here.services.file_store.get_file("local", file)).name == "notes.txt"
        here.post_message("And this.", files=[Upload("tool.bin", b"\0\1\2")])
        await here.wait_for_message("tool.bin is no text in UTF-8, image or PDF")


async def test_empty_message_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.post_message(f"<@{here.fake_discord.guild.bot['id']}>")
        here.post_message("Well?")
        await here.wait_for_message("A brief answer.")
        await here.wait_until_idle()
        [asked, _] = await here.services.discussions.list_messages(await here.discussion_id())
        assert asked.content == "anna: Well?"
