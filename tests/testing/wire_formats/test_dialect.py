import json

from hypothesis import given
from hypothesis import strategies as st

from moot.testing.wire_formats.dialect import encode_frame, split_in_half


def test_lone_surrogates_are_written_as_escapes() -> None:
    assert encode_frame({"a": "\ud800"}) == rb'{"a": "\ud800"}'
    assert encode_frame({"a": "é\u2028"}) == '{"a": "é\u2028"}'.encode()
    assert encode_frame("[DONE]") == b"[DONE]"


@given(st.text())
def test_frames_are_json_and_halves_are_the_whole(text: str) -> None:
    assert json.loads(encode_frame({"t": text})) == {"t": text}
    assert "".join(split_in_half(text)) == text
