import json

from hypothesis import given
from hypothesis import strategies as st

from moot.testing.wire_formats.dialect import encode_frame, split_in_half


def test_encode_frame_escapes_lone_surrogates() -> None:
    assert encode_frame({"a": "\ud800"}) == rb'{"a": "\ud800"}'
    assert encode_frame({"a": "é\u2028"}) == '{"a": "é\u2028"}'.encode()
    assert encode_frame("[DONE]") == b"[DONE]"


@given(st.text())
def test_encode_frame_is_json_and_split_in_half_is_lossless(text: str) -> None:
    assert json.loads(encode_frame({"t": text})) == {"t": text}
    assert "".join(split_in_half(text)) == text
