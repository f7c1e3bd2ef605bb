import msgspec

from moot.types.discord import ChannelBinding, DeliveryProgress, MemorySummary
from moot.types.participants import make_participants


def test_channel_binding_survives_json_round_trip() -> None:
    binding = ChannelBinding(
        id="1",
        tenant="local",
        guild="2",
        mode="debate",
        participants=make_participants(("a/one",)),
        created_at=1.0,
    )
    assert msgspec.json.decode(msgspec.json.encode(binding), type=ChannelBinding) == binding


def test_delivery_progress_starts_empty() -> None:
    assert DeliveryProgress() == DeliveryProgress(seq=0, message=None, author=None, posts={})


def test_memory_summary_survives_json_round_trip() -> None:
    summary = MemorySummary(text="Tea for six.", discussions=("dis_1", "dis_2"), covers_until=1.0, created_at=2.0)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=MemorySummary) == summary
