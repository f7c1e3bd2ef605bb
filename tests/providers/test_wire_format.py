from moot.providers.wire_format import decode_frames
from moot.types.chunks import Chunk, Done, Failed, Text
from moot.types.errors import ProviderError
from moot.types.faults import make_fault


class WordDecoder:
    """Decodes a simple format: each frame is a word, and a full stop ends the stream."""

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        match frame:
            case b"?":
                raise ProviderError(make_fault("bad_response", "what?"))
            case b".":
                return [Done("stop")]
        return [Text(frame.decode())]

    @property
    def has_finish_reason(self) -> bool:
        return False

    def final_chunks(self) -> list[Chunk]:
        return [Done("stop")]


def test_decode_frames_stops_at_final_chunk() -> None:
    assert decode_frames(WordDecoder(), [b"a", b"b"]) == [Text("a"), Text("b")]
    assert decode_frames(WordDecoder(), [b"a", b".", b"b", b"."]) == [Text("a"), Done("stop")]


def test_decode_frames_keeps_chunks_before_unreadable_frame() -> None:
    read = decode_frames(WordDecoder(), [b"a", b"?", b"b"])
    assert read == [Text("a"), Failed(make_fault("bad_response", "what?"))]
