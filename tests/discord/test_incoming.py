from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.incoming import MAX_RESPONDERS, find_named_participants, is_stop_request
from moot.testing.discord.guild import Upload
from moot.types.participants import Participant, participant_id
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


async def test_participants_naming_each_other_continue_for_three_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        expected = [
            ("anna", "Alpha, who knows?"),
            *[("Alpha", "What does Beta say?"), ("Beta", "Ask Alpha.")] * 2,
        ]
        for _ in range(2):  # a message from a user resets the count
            session.post_message("Alpha, who knows?")
            await session.fake_discord.wait_until(lambda: session.visible_lines()[-5:] == expected)
            await session.wait_until_idle()
        runs = await session.services.runs.list_runs("local", await session.discussion_id())
        assert [run.mode for run in runs] == ["consensus", "continue", "continue", "continue"] * 2


async def test_run_without_named_participants_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        session.post_message("Who knows?")
        await session.wait_for_message("What does Beta say?")
        await session.wait_for_message("Ask Alpha.")
        await session.wait_until(session.is_fully_delivered, lambda delivered: delivered)
        assert len(await session.services.runs.list_runs("local", await session.discussion_id())) == 1


async def test_stop_message_ends_chained_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/calls-beta, scripted/hanging")
        session.post_message("Alpha, who knows?")
        await session.wait_for_message("It begins.")
        session.post_message("stop")
        await session.wait_for_message("And it w")
        await session.wait_until(session.is_fully_delivered, lambda delivered: delivered)
        runs = await session.services.runs.list_runs("local", await session.discussion_id())
        assert [(run.mode, run.status) for run in runs] == [
            ("consensus", "completed"),
            ("continue", "stopped"),
        ]


async def test_stop_message_ends_answer_regenerated_on_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as session:
        await session.run_command("new", participants="scripted/brief")
        session.post_message("Hello.")
        await session.wait_for_message("A brief answer.")
        await session.wait_until_idle()
        discussion = await session.discussion_id()
        [_, answer] = await session.services.discussions.list_messages(discussion)
        caller = await session.services.accounts.ensure_local_account()
        regeneration = (
            await session.services.turn_versions.regenerate_answer(caller, discussion, answer.id, "scripted/hanging")
        ).run
        session.post_message("stop")
        await session.wait_until_idle()
        assert (await session.services.runs.get_run("local", regeneration.id)).status == "stopped"
        assert len(await session.services.discussions.list_messages(discussion)) == 2, "the stop added no message"


NAMES = ("Alpha", "Alpha 2", "Beta", "Devil's Advocate", "Über")
TABLE = [Participant(participant_id(name), name, "scripted/echo") for name in NAMES]


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Why are tables round?", ()),
        ("beta, then Alpha", ("beta", "alpha")),
        ("@Beta and Beta again", ("beta",)),
        ("Alpha 2 and not the other", ("alpha-2",)),
        ("alphabet soup, betas", ()),
        ("What does the devil's advocate say?", ("devil-s-advocate",)),
        ("ÜBER?", ("über",)),
        ("Über Beta Alpha, and Alpha 2 too", ("über", "beta", "alpha")),
    ],
)
def test_find_named_participants_returns_ids_in_mention_order(text: str, ids: tuple[str, ...]) -> None:
    assert find_named_participants(text, TABLE) == ids


@given(st.lists(st.sampled_from([*NAMES, "somebody", "…"])))
def test_find_named_participants_is_unique_and_limited(words: list[str]) -> None:
    found = find_named_participants(" ".join(words), TABLE)
    assert len(found) == len(set(found)) <= MAX_RESPONDERS


def test_find_named_participants_is_empty_without_participants() -> None:
    assert find_named_participants("Alpha", []) == ()


@pytest.mark.parametrize("text", ["stop", "Stop!", "  WAIT… ", "enough.", "nevermind", "Never  mind", "**stop**"])
def test_is_stop_request_accepts_stop_phrases(text: str) -> None:
    assert is_stop_request(text)


@pytest.mark.parametrize("text", ["", "stop it there", "don't stop", "waiter", "Is that enough?"])
def test_is_stop_request_rejects_other_text(text: str) -> None:
    assert not is_stop_request(text)
