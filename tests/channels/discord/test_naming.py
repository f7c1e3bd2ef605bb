import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.channels.discord.naming import MOST_ANSWERS, is_stop, named
from moot.model.participants import Participant, participant_id

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
    assert named(text, TABLE) == ids


@given(st.lists(st.sampled_from([*NAMES, "somebody", "…"])))
def test_nobody_answers_twice_and_never_too_many(words: list[str]) -> None:
    found = named(" ".join(words), TABLE)
    assert len(found) == len(set(found)) <= MOST_ANSWERS


def test_at_a_table_of_nobody_nobody_is_named() -> None:
    assert named("Alpha", []) == ()


@pytest.mark.parametrize(
    "text", ["stop", "Stop!", "  WAIT… ", "enough.", "nevermind", "Never  mind", "**stop**"]
)
def test_a_stop_in_plain_words(text: str) -> None:
    assert is_stop(text)


@pytest.mark.parametrize("text", ["", "stop it there", "don't stop", "waiter", "Is that enough?"])
def test_other_words_are_no_stop(text: str) -> None:
    assert not is_stop(text)
