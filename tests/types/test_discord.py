import msgspec

from moot.types.discord import Binding, Summary, Told
from moot.types.participants import seat


def test_a_binding_is_read_back_as_it_was() -> None:
    binding = Binding(
        id="1", tenant="local", guild="2", mode="debate", participants=seat(("a/one",)), created_at=1.0
    )
    assert msgspec.json.decode(msgspec.json.encode(binding), type=Binding) == binding


def test_nothing_is_told_at_first() -> None:
    assert Told() == Told(seq=0, message=None, author=None, posts={})


def test_a_summary_is_what_was_written_down() -> None:
    summary = Summary(words="Tea for six.", discussions=("dis_1", "dis_2"), upto=1.0, created_at=2.0)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
