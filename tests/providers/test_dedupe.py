from hypothesis import given
from hypothesis import strategies as st

from moot.providers.dedupe import MAX_TAIL_CHARS, OverlapDeduper, SnapshotDeduper


def dedupe_overlaps(*pieces: tuple[str, int | None]) -> str:
    overlaps = OverlapDeduper()
    return "".join(overlaps.new_text(piece, tokens) for piece, tokens in pieces)


def dedupe_without_token_counts(*pieces: str) -> str:
    return dedupe_overlaps(*((piece, None) for piece in pieces))


def test_overlap_deduper_drops_exact_repeat() -> None:
    assert dedupe_without_token_counts("The quick brown fox", "The quick brown fox") == "The quick brown fox"


def test_overlap_deduper_trims_overlap() -> None:
    assert dedupe_without_token_counts("The quick brown fox", "brown fox jumps") == "The quick brown fox jumps"


def test_overlap_deduper_emits_long_snapshots_once() -> None:
    text = "".join(f"sentence number {n}. " for n in range(600))
    assert len(text) > 2 * MAX_TAIL_CHARS
    assert dedupe_without_token_counts(*(text[:end] for end in range(50, len(text) + 50, 50))) == text


def test_overlap_deduper_keeps_genuine_repeats() -> None:
    assert dedupe_without_token_counts("no, ", "no, ", "no, ") == "no, no, no, "  # short
    assert dedupe_without_token_counts("ha ha ha ha ", "ha ha ha ha ") == "ha ha ha ha " * 2  # not varied
    assert dedupe_without_token_counts("x:\n        ", "        ", "pass") == "x:\n                pass"  # indentation
    assert dedupe_without_token_counts("| --- | --- |", "-------------", "-------------").endswith("-" * 26)


def test_overlap_deduper_keeps_repeat_when_token_count_grows() -> None:
    line = "Row, row, row your boat\n"
    assert dedupe_overlaps((line, 8), (line, 16)) == line * 2
    assert dedupe_overlaps((line, 8), (line, 8)) == line


def test_snapshot_deduper_emits_only_new_text() -> None:
    snapshots = SnapshotDeduper()
    pieces = ["A table ", "A table has", "A table has no head", "A table has no head"]
    assert "".join(snapshots.new_text(piece) for piece in pieces) == "A table has no head"


def test_snapshot_deduper_keeps_repeat_at_start() -> None:
    snapshots = SnapshotDeduper()
    assert "".join(snapshots.new_text(piece) for piece in ["Row, row!\n", "Row, row!\n"]) == "Row, row!\n" * 2


@given(st.lists(st.text(max_size=7), max_size=20))
def test_overlap_deduper_keeps_short_pieces(pieces: list[str]) -> None:
    assert dedupe_without_token_counts(*pieces) == "".join(pieces)


@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=6), max_size=30))
def test_snapshot_deduper_keeps_small_pieces(pieces: list[str]) -> None:
    snapshots = SnapshotDeduper()
    texts = ["start of a long and varied text", *pieces]
    assert "".join(snapshots.new_text(piece) for piece in texts) == "".join(texts)
