from itertools import islice

import msgspec
import pytest

from moot.types.participants import Participant, default_names, make_participants, participant_id


def test_names_are_counted_past_omega() -> None:
    names = list(islice(default_names(), 50))
    assert names[:3] == ["Alpha", "Beta", "Gamma"]
    assert names[23:26] == ["Omega", "Alpha 2", "Beta 2"]
    assert names[48] == "Alpha 3"


def test_a_hundred_seats_have_a_hundred_names_and_ids() -> None:
    seated = make_participants(("scripted/echo",) * 100)
    assert len({p.name for p in seated}) == len({p.id for p in seated}) == 100


def test_an_id_can_stand_in_a_url() -> None:
    assert all(
        p.id.replace("-", "").isalnum() and p.id.isascii()
        for p in make_participants(("scripted/echo",) * 100)
    )


def test_two_participants_on_one_model_are_two() -> None:
    assert make_participants(("scripted/echo", "scripted/echo")) == (
        Participant("alpha", "Alpha", "scripted/echo"),
        Participant("beta", "Beta", "scripted/echo"),
    )


def test_models_keep_the_order_in_which_they_were_named() -> None:
    models = ("c/3", "a/1", "b/2")
    assert tuple(p.model for p in make_participants(models)) == models


def test_nobody_is_seated_at_an_empty_table() -> None:
    assert make_participants(()) == ()


def test_only_what_was_said_of_a_participant_is_written() -> None:
    plain, warm = Participant("alpha", "Alpha", "a/one"), Participant("x", "X", "a/one", temperature=0.5)
    assert msgspec.json.encode(plain) == b'{"id":"alpha","name":"Alpha","model":"a/one"}'
    assert msgspec.json.decode(msgspec.json.encode(warm), type=Participant) == warm


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("Alpha", "alpha"),
        ("Alpha 2", "alpha-2"),
        ("  The Sceptic! ", "the-sceptic"),
        ("a/b?c#d", "a-b-c-d"),
        ("Zoë", "zoë"),
        ("!?", "participant"),
        ("", "participant"),
    ],
)
def test_an_id_is_made_from_the_name(name: str, id: str) -> None:
    assert participant_id(name) == id
