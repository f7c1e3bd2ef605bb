import json

from hypothesis import given
from hypothesis import strategies as st

from moot.testing.wire_formats.dialect import encoded, halves


def test_lone_surrogates_are_written_as_escapes() -> None:
    assert encoded({"a": "\ud800"}) == rb'{"a": "\ud800"}'
    assert encoded({"a": "é\u2028"}) == '{"a": "é\u2028"}'.encode()
    assert encoded("[DONE]") == b"[DONE]"


@given(st.text())
def test_frames_are_json_and_halves_are_the_whole(text: str) -> None:
    assert json.loads(encoded({"t": text})) == {"t": text}
    assert "".join(halves(text)) == text
