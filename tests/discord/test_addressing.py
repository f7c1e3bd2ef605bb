from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.addressing import MAX_RESPONDERS, find_named_participants, is_stop_request
from moot.types.participants import Participant, participant_id
from tests.discord.parley import open_bot_session


async def test_personas_that_name_each_other_go_on_for_three_more_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        for _ in range(2):  # what a person writes lets them begin to count anew
            here.post_message("Alpha, who knows?")
            four = [
                ("Alpha", "What does Beta say?"),
                ("Beta", "Ask Alpha."),
                ("Alpha", "What does Beta say?"),
                ("Beta", "Ask Alpha."),
            ]
            await here.fake_discord.wait_until(
                lambda: here.visible_lines()[-5:] == [("anna", "Alpha, who knows?"), *four]
            )  # noqa: B023
            await here.wait_until_idle()
        runs = await here.services.runs.list_runs("local", await here.discussion_id())
        assert [run.mode for run in runs] == ["consensus", "continue", "continue", "continue"] * 2


async def test_where_nobody_was_called_upon_nobody_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/calls-beta, scripted/calls-alpha")
        here.post_message("Who knows?")
        await here.wait_for_message("What does Beta say?")
        await here.wait_for_message("Ask Alpha.")
        await here.wait_until(here.is_fully_delivered, lambda told: told)
        assert len(await here.services.runs.list_runs("local", await here.discussion_id())) == 1


async def test_who_asked_can_stop_those_who_go_on_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


async def test_who_asked_can_stop_an_answer_that_is_made_anew_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_bot_session(tmp_path, monkeypatch) as here:
        await here.run_command("new", participants="scripted/brief")
        here.post_message("Hello.")
        await here.wait_for_message("A brief answer.")
        await here.wait_until_idle()
        discussion = await here.discussion_id()
        [_, answer] = await here.services.discussions.list_messages(discussion)
        caller = await here.services.accounts.ensure_local_account()
        anew = (
            await here.services.turn_versions.regenerate_answer(
                caller, discussion, answer.id, "scripted/hanging"
            )
        ).run
        here.post_message("stop")
        await here.wait_until_idle()
        assert (await here.services.runs.get_run("local", anew.id)).status == "stopped"
        assert len(await here.services.discussions.list_messages(discussion)) == 2, (
            "nobody was told of the stop"
        )


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
def test_who_is_named_answers_in_the_order_of_naming(text: str, ids: tuple[str, ...]) -> None:
    assert find_named_participants(text, TABLE) == ids


@given(st.lists(st.sampled_from([*NAMES, "somebody", "…"])))
def test_nobody_answers_twice_and_never_too_many(words: list[str]) -> None:
    found = find_named_participants(" ".join(words), TABLE)
    assert len(found) == len(set(found)) <= MAX_RESPONDERS


def test_at_a_table_of_nobody_nobody_is_named() -> None:
    assert find_named_participants("Alpha", []) == ()


@pytest.mark.parametrize(
    "text", ["stop", "Stop!", "  WAIT… ", "enough.", "nevermind", "Never  mind", "**stop**"]
)
def test_a_stop_in_plain_words(text: str) -> None:
    assert is_stop_request(text)


@pytest.mark.parametrize("text", ["", "stop it there", "don't stop", "waiter", "Is that enough?"])
def test_other_words_are_no_stop(text: str) -> None:
    assert not is_stop_request(text)
