import msgspec

from moot.types.discord import ChannelBinding, DeliveryProgress, MemorySummary
from moot.types.participants import make_participants


def test_a_binding_is_read_back_as_it_was() -> None:
    binding = ChannelBinding(
        id="1",
        tenant="local",
        guild="2",
        mode="debate",
        participants=make_participants(("a/one",)),
        created_at=1.0,
    )
    assert msgspec.json.decode(msgspec.json.encode(binding), type=ChannelBinding) == binding


def test_nothing_is_told_at_first() -> None:
    assert DeliveryProgress() == DeliveryProgress(seq=0, message=None, author=None, posts={})


def test_a_summary_is_what_was_written_down() -> None:
    summary = MemorySummary(words="Tea for six.", discussions=("dis_1", "dis_2"), upto=1.0, created_at=2.0)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=MemorySummary) == summary
