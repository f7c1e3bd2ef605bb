import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.providers.sse import EventParser
from moot.types.errors import ProviderError


def parse_pieces(*pieces: bytes) -> list[bytes]:
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed_bytes(piece)]


def test_event_ends_at_blank_line() -> None:
    assert parse_pieces(b"data: a\n\ndata: b\n\ndata: half") == [b"a", b"b"]


def test_event_data_drops_one_space_after_colon() -> None:
    assert parse_pieces(b"data:a\n\ndata:  b\n\n") == [b"a", b" b"]


def test_event_parser_joins_data_lines_and_ignores_other_fields() -> None:
    assert parse_pieces(b": comment\nevent: x\nid: 7\ndata: a\nretry: 3\ndata: b\n\n") == [b"a\nb"]


def test_event_data_keeps_unicode_line_separators() -> None:
    text = "a\u2028b\u2029c\u0085d".encode()
    assert parse_pieces(b"data: " + text + b"\n\n") == [text]


def test_byte_order_mark_is_skipped_once_across_chunks() -> None:
    assert parse_pieces(b"\xef", b"\xbb", b"\xbfdata: \xef\xbb\xbf\n\n") == [b"\xef\xbb\xbf"]


def test_flush_event_returns_event_without_blank_line() -> None:
    parser = EventParser()
    parser.feed_bytes(b'data: {"a":\ndata: 1}')
    assert parser.flush_event() == b'{"a":\n1}'
    assert EventParser().flush_event() is None


@pytest.mark.parametrize(
    "pieces",
    [
        [b"data: " + b"x" * 200],
        [b"data: "] + [b"x"] * 200,
        [b"data: xxxxxxxxx\n"] * 20,
        [b": " + b"x" * 200],
        [b"data:\n"] * 50,
    ],
)
def test_event_parser_rejects_event_over_size_limit(pieces: list[bytes]) -> None:
    parser = EventParser(max_event_bytes=100)
    with pytest.raises(ProviderError, match="100 bytes"):
        for piece in pieces:
            parser.feed_bytes(piece)


def test_size_limit_applies_to_each_event_alone() -> None:
    parser = EventParser(max_event_bytes=100)
    assert len(parser.feed_bytes(b"data: 12345678\n\n" * 50)) == 50


def test_event_parser_takes_linear_time_for_single_bytes() -> None:
    """The parser joins buffered pieces once for each line, not once for each byte."""
    parser = EventParser()
    for _ in range(100_000):
        parser.feed_bytes(b"x")
    assert parser.feed_bytes(b"\n\ndata: y\n\n") == [b"y"]


line_lists = st.lists(
    st.sampled_from([b"data: a", b"data:b", b"data", b"", b": c", b"event: e", "data: \u2028é😀".encode()]),
    max_size=12,
)


@given(line_lists, st.sampled_from([b"\n", b"\r\n", b"\r"]), st.data())
def test_parsed_events_do_not_depend_on_line_endings_and_chunk_boundaries(
    lines: list[bytes], ending: bytes, data: st.DataObject
) -> None:
    expected = parse_pieces(b"".join(line + b"\n" for line in lines))
    stream = b"".join(line + ending for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=10)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parse_pieces(*pieces) == expected
