from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.addressing import MAX_RESPONDERS, find_named_participants, is_stop_request
from moot.types.participants import Participant, participant_id
from tests.discord.bot_session import open_bot_session


async def test_participants_naming_each_other_continue_for_three_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        expected = [
            ("anna", "Alpha, who knows?"),
            *[("Alpha", "What does Beta say?"), ("Beta", "Ask Alpha.")] * 2,
        ]
        for _ in range(2):  # what a person writes lets them begin to count anew
            here.post_message("Alpha, who knows?")
            await here.fake_discord.wait_until(lambda: here.visible_lines()[-5:] == expected)
            await here.wait_until_idle()
        runs = await here.services.runs.list_runs("local", await here.discussion_id())
        assert [run.mode for run in runs] == ["consensus", "continue", "continue", "continue"] * 2


async def test_run_without_named_participants_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        here.post_message("Who knows?")
        await here.wait_for_message("What does Beta say?")
        await here.wait_for_message("Ask Alpha.")
        await here.wait_until(here.is_fully_delivered, lambda told: told)
        assert len(await here.services.runs.list_runs("local", await here.discussion_id())) == 1


async def test_stop_message_ends_chained_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/calls-beta, scripted/hanging")
        here.post_message("Alpha, who knows?")
        await here.wait_for_message("It begins.")
        here.post_message("stop")
        await here.wait_for_message("And it w")
        await here.wait_until(here.is_fully_delivered, lambda told: told)
        runs = await here.services.runs.list_runs("local", await here.discussion_id())
        assert [(run.mode, run.status) for run in runs] == [
            ("consensus", "completed"),
            ("continue", "stopped"),
        ]


async def test_stop_message_ends_answer_regenerated_on_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.post_message("Hello.")
        await here.wait_for_message("A brief answer.")
        await here.wait_until_idle()
        discussion = await here.discussion_id()
        [_, answer] = await here.services.discussions.list_messages(discussion)
        caller = await here.services.accounts.ensure_local_account()
        anew = (
            await here.services.turn_versions.regenerate_answer(caller, discussion, answer.id, "scripted/hanging")
        ).run
        here.post_message("stop")
        await here.wait_until_idle()
        assert (await here.services.runs.get_run("local", anew.id)).status == "stopped"
        assert len(await here.services.discussions.list_messages(discussion)) == 2, "nobody was told of the stop"


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
