from pathlib import Path

import pytest

from moot.testing.discord.guild import Upload
from tests.discord.parley import parley


async def test_who_is_named_answers_in_that_order_and_the_others_hear_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief, scripted/other, scripted/echo")
        here.say("Beta and Alpha, what is a moot?")
        await here.shown("A brief answer.")
        assert here.heard()[-2:] == [("Beta", "Another answer."), ("Alpha", "A brief answer.")]
        answer = next(one for one in here.general.messages if one["content"] == "A brief answer.")
        here.say("And why?", reply_to=answer)
        await here.double.wait_until(
            lambda: here.heard()[-2:] == [("anna", "And why?"), ("Alpha", "A brief answer.")]
        )
        await here.over()
        said = await here.house.discussions.list_messages(await here.discussion())
        assert all(one.audience is None for one in said)


async def test_what_is_attached_comes_as_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/echo")
        here.say("Read this.", files=[Upload("notes.txt", b"Four legs.")])
        await here.shown("Four legs.")
        [asked, _] = await here.house.discussions.list_messages(await here.discussion())
        [file] = asked.files or ()
        assert (await here.house.file_store.get_file("local", file)).name == "notes.txt"
        here.say("And this.", files=[Upload("tool.bin", b"\0\1\2")])
        await here.shown("tool.bin is no text in UTF-8, image or PDF")


async def test_a_message_that_says_nothing_is_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with parley(tmp_path, monkeypatch) as here:
        await here.command("new", participants="scripted/brief")
        here.say(f"<@{here.double.guild.bot['id']}>")
        here.say("Well?")
        await here.shown("A brief answer.")
        await here.over()
        [asked, _] = await here.house.discussions.list_messages(await here.discussion())
        assert asked.content == "anna: Well?"
