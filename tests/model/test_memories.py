import msgspec

from moot.model.memories import Summary


def test_a_summary_is_what_was_written_down() -> None:
    summary = Summary(words="Tea for six.", discussions=("dis_1", "dis_2"), upto=1.0, created_at=2.0)
    assert msgspec.json.decode(msgspec.json.encode(summary), type=Summary) == summary
