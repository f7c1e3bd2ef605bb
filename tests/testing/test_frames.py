from moot.providers.scripted.scripts import Script, Scripts
from moot.testing.frames import answer_frames, encode_event
from moot.testing.wire_formats.openai import OpenAIDialect
from moot.types.requests import ModelRequest, user_message


def written(trouble: str) -> list[bytes]:
    scripts = Scripts({"x": Script(answer="abcdef", chunk=3, fault=trouble, fault_after=0)})
    performance = scripts.next_reply(ModelRequest(model="x", messages=(user_message("?"),)))
    return [encode_event(frame, trouble) for frame in answer_frames(OpenAIDialect(), performance)]


def test_a_plain_answer() -> None:
    answer = written("")
    assert [piece[:6] for piece in answer] == [b"data: "] * 6
    assert answer[-1] == b"data: [DONE]\n\n"


def test_faults_change_what_their_names_say() -> None:
    assert len(written("no_finish")) == 3
    assert written("no_done")[-1] != b"data: [DONE]\n\n"
    assert written("broken_json")[-1] == b"data: {broken\n\n"
    assert b"\n" not in written("cr")[0]
    assert written("crlf")[0].endswith(b"\r\n\r\n")
    assert written("comments")[0].startswith(b":")
    assert written("multiline")[0].count(b"data: ") > 1
    assert b"abcdef" in written("snapshots")[2]
