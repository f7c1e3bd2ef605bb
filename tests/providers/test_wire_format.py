import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.providers.wire_format import decode_frames, decode_leniently, is_json, parse_model_ids
from moot.types.chunks import Chunk, Done, Failed, Text
from moot.types.errors import ProviderError
from moot.types.faults import make_fault

string_decoder = msgspec.json.Decoder(str)


class WordDecoder:
    """Decodes a simple format: each frame is a word, and a full stop ends the stream."""

    finish_reason: str | None = None

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        match frame:
            case b"?":
                raise ProviderError(make_fault("bad_response", "what?"))
            case b".":
                return [Done("stop")]
        return [Text(frame.decode())]

    def final_chunks(self) -> list[Chunk]:
        return [Done("stop")]


def test_decode_frames_stops_at_final_chunk() -> None:
    assert decode_frames(WordDecoder(), [b"a", b"b"]) == [Text("a"), Text("b")]
    assert decode_frames(WordDecoder(), [b"a", b".", b"b", b"."]) == [Text("a"), Done("stop")]


def test_decode_frames_keeps_chunks_before_unreadable_frame() -> None:
    read = decode_frames(WordDecoder(), [b"a", b"?", b"b"])
    assert read == [Text("a"), Failed(make_fault("bad_response", "what?"))]


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (rb'"\ud800"', "\ufffd"),
        (rb'"a\udc00b"', "a\ufffdb"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\\ud800"', "\\ud800"),
        (rb'"\ud83d\ude00 \ud800"', "😀 \ufffd"),
        (b'"caf\xe9"', "caf\ufffd"),
    ],
)
def test_decode_leniently_repairs_surrogates_and_invalid_utf8(frame: bytes, text: str) -> None:
    assert decode_leniently(string_decoder, frame) == text


@pytest.mark.parametrize("frame", [b"{broken", b"", b'{"a": 1}', b"NaN"])
def test_decode_leniently_raises_bad_response_for_other_errors(frame: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        decode_leniently(string_decoder, frame)
    assert caught.value.fault.kind == "bad_response"


def test_decode_leniently_rejects_deep_nesting() -> None:
    with pytest.raises(ProviderError):
        decode_leniently(msgspec.json.Decoder(), b"[" * 100_000 + b"]" * 100_000)
    assert not is_json("[" * 100_000 + "]" * 100_000)


@given(st.text())
def test_decode_leniently_keeps_valid_text(text: str) -> None:
    assert decode_leniently(string_decoder, msgspec.json.encode(text)) == text


def test_is_json_rejects_incomplete_arguments() -> None:
    assert is_json('{"a": [1]}')
    assert not is_json('{"a": [1')
    assert not is_json("")


def test_parse_model_ids_keeps_order() -> None:
    assert parse_model_ids(b'{"data": [{"id": "b", "owned_by": "x"}, {"id": "a"}]}') == ["b", "a"]


def test_parse_model_ids_rejects_other_shapes() -> None:
    with pytest.raises(msgspec.DecodeError):
        parse_model_ids(b"[]")
