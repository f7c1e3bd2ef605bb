from moot.providers.wire_format import understood
from moot.types.chunks import Chunk, Done, Failed, Text
from moot.types.errors import ProviderError
from moot.types.faults import fault


class Words:
    """A reader of the simplest format there is: a word a frame, a full stop at the end."""

    def read(self, frame: bytes) -> list[Chunk]:
        match frame:
            case b"?":
                raise ProviderError(fault("bad_response", "what?"))
            case b".":
                return [Done("stop")]
        return [Text(frame.decode())]

    @property
    def finished(self) -> bool:
        return False

    def end(self) -> list[Chunk]:
        return [Done("stop")]


def test_frames_are_read_up_to_the_ending() -> None:
    assert understood(Words(), [b"a", b"b"]) == [Text("a"), Text("b")]
    assert understood(Words(), [b"a", b".", b"b", b"."]) == [Text("a"), Done("stop")]


def test_a_frame_that_cannot_be_read_is_an_ending_and_keeps_what_came_before() -> None:
    read = understood(Words(), [b"a", b"?", b"b"])
    assert read == [Text("a"), Failed(fault("bad_response", "what?"))]
