from itertools import islice

import msgspec
import pytest

from moot.types.participants import (
    Participant,
    default_names,
    first_free_name,
    make_participants,
    participant_id,
)


def test_default_names_are_numbered_after_omega() -> None:
    names = list(islice(default_names(), 50))
    assert names[:3] == ["Alpha", "Beta", "Gamma"]
    assert names[23:26] == ["Omega", "Alpha 2", "Beta 2"]
    assert names[48] == "Alpha 3"


def test_make_participants_gives_unique_names_and_ids() -> None:
    participants = make_participants(("scripted/echo",) * 100)
    assert len({p.name for p in participants}) == len({p.id for p in participants}) == 100


def test_participant_ids_are_url_safe() -> None:
    assert all(p.id.replace("-", "").isalnum() and p.id.isascii() for p in make_participants(("scripted/echo",) * 100))


def test_make_participants_allows_same_model_twice() -> None:
    assert make_participants(("scripted/echo", "scripted/echo")) == (
        Participant("alpha", "Alpha", "scripted/echo"),
        Participant("beta", "Beta", "scripted/echo"),
    )


def test_make_participants_keeps_order_of_models() -> None:
    models = ("c/3", "a/1", "b/2")
    assert tuple(p.model for p in make_participants(models)) == models


def test_make_participants_returns_nothing_for_no_models() -> None:
    assert make_participants(()) == ()


def test_participant_encodes_only_set_fields() -> None:
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
def test_participant_id_is_derived_from_name(name: str, id: str) -> None:
    assert participant_id(name) == id


def test_first_free_name_skips_used_ids() -> None:
    assert first_free_name(default_names(), {"alpha", "gamma"}) == "Beta"
