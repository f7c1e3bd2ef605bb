from moot.providers.scripted.scripts import Script, Scripts
from moot.testing.frames import answer_frames, encode_event
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.requests import ModelRequest, user_message


def encoded_frames(fault: str) -> list[bytes]:
    scripts = Scripts({"x": Script(answer="abcdef", chunk_chars=3, fault=fault, fault_after_chunks=0)})
    reply = scripts.next_reply(ModelRequest(model="x", messages=(user_message("?"),)))
    return [encode_event(frame, fault) for frame in answer_frames(OpenAIDialect(), reply)]


def test_plain_answer_is_encoded_as_events() -> None:
    answer = encoded_frames("")
    assert [piece[:6] for piece in answer] == [b"data: "] * 6
    assert answer[-1] == b"data: [DONE]\n\n"


def test_each_fault_changes_frames() -> None:
    assert len(encoded_frames("no_finish")) == 3
    assert encoded_frames("no_done")[-1] != b"data: [DONE]\n\n"
    assert encoded_frames("broken_json")[-1] == b"data: {broken\n\n"
    assert b"\n" not in encoded_frames("cr")[0]
    assert encoded_frames("crlf")[0].endswith(b"\r\n\r\n")
    assert encoded_frames("comments")[0].startswith(b":")
    assert encoded_frames("multiline")[0].count(b"data: ") > 1
    assert b"abcdef" in encoded_frames("snapshots")[2]
