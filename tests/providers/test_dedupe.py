from hypothesis import given
from hypothesis import strategies as st

from moot.providers.dedupe import MAX_TAIL_CHARS, OverlapDeduper, SnapshotDeduper


def overlapped(*pieces: tuple[str, int | None]) -> str:
    overlaps = OverlapDeduper()
    return "".join(overlaps.new_text(piece, tokens) for piece, tokens in pieces)


def untold(*pieces: str) -> str:
    return overlapped(*((piece, None) for piece in pieces))


def test_an_exact_repeat_is_dropped() -> None:
    assert untold("The quick brown fox", "The quick brown fox") == "The quick brown fox"


def test_an_overlap_is_trimmed() -> None:
    assert untold("The quick brown fox", "brown fox jumps") == "The quick brown fox jumps"


def test_snapshots_are_told_once_even_when_long() -> None:
    text = "".join(f"sentence number {n}. " for n in range(600))
    assert len(text) > 2 * MAX_TAIL_CHARS
    assert untold(*(text[:end] for end in range(50, len(text) + 50, 50))) == text


def test_true_repeats_are_kept() -> None:
    assert untold("no, ", "no, ", "no, ") == "no, no, no, "  # short
    assert untold("ha ha ha ha ", "ha ha ha ha ") == "ha ha ha ha " * 2  # not varied
    assert untold("x:\n        ", "        ", "pass") == "x:\n                pass"  # indentation
    assert untold("| --- | --- |", "-------------", "-------------").endswith("-" * 26)


def test_the_provider_s_own_count_tells_a_true_repeat() -> None:
    line = "Row, row, row your boat\n"
    assert overlapped((line, 8), (line, 16)) == line * 2
    assert overlapped((line, 8), (line, 8)) == line


def test_servers_that_send_the_whole_text_each_time() -> None:
    snapshots = SnapshotDeduper()
    pieces = ["A table ", "A table has", "A table has no head", "A table has no head"]
    assert "".join(snapshots.new_text(piece) for piece in pieces) == "A table has no head"


def test_a_piece_said_twice_at_the_start_is_said_twice() -> None:
    snapshots = SnapshotDeduper()
    assert "".join(snapshots.new_text(piece) for piece in ["Row, row!\n", "Row, row!\n"]) == "Row, row!\n" * 2


@given(st.lists(st.text(max_size=7), max_size=20))
def test_short_pieces_are_never_touched(pieces: list[str]) -> None:
    assert untold(*pieces) == "".join(pieces)


@given(st.lists(st.text(alphabet="abc ", min_size=1, max_size=6), max_size=30))
def test_small_pieces_of_ordinary_servers_are_never_touched(pieces: list[str]) -> None:
    snapshots = SnapshotDeduper()
    told = ["start of a long and varied text", *pieces]
    assert "".join(snapshots.new_text(piece) for piece in told) == "".join(told)
