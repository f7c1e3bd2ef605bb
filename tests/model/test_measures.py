import msgspec

from moot.model.measures import Measure


def test_four_characters_are_a_token_where_nobody_has_counted() -> None:
    assert Measure().characters_per_token == 4


def test_only_what_is_known_is_written_down() -> None:
    assert msgspec.json.encode(Measure()) == b"{}"
    assert msgspec.json.decode(b'{"context":2048}', type=Measure) == Measure(context=2048)
