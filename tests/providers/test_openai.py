import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from msgspec import Raw

from moot.providers.openai import OpenAIStreamDecoder, OpenAIWireFormat
from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.errors import ProviderError
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest, Tool, ToolResult, assistant_message, user_message

PROFILE = Profile(thinking="effort", max_tokens_field="max_completion_tokens")


def decode_chunks(*frames: object) -> list[Chunk]:
    reader = OpenAIStreamDecoder("lab")
    chunks = [
        chunk for frame in frames for chunk in reader.decode_frame(_encode_frame(frame))
    ] + reader.final_chunks()
    return [chunk for chunk in chunks if not isinstance(chunk, Progress)]


def _encode_frame(frame: object) -> bytes:
    return frame.encode() if isinstance(frame, str) else json.dumps(frame).encode()


def delta_frame(finish: str | None = None, **fields: object) -> dict[str, object]:
    return {"choices": [{"delta": fields, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("reasons", "finish"),
    [
        (("stop", "eos", "eos_token", "end_turn"), "stop"),
        (("length", "max_tokens", "model_length"), "length"),
        (("tool_calls", "function_call"), "tool_calls"),
        (("content_filter",), "content_filter"),
    ],
)
def test_every_server_s_word_for_the_end_is_known(reasons: tuple[str, ...], finish: str) -> None:
    for reason in reasons:
        assert Done(finish) in decode_chunks(delta_frame(content="Yes."), delta_frame(reason))  # type: ignore[arg-type]


def test_the_whole_request() -> None:
    request = ModelRequest(
        model="gpt-5",
        system="Be brief.",
        messages=(
            user_message(
                "What is on it?", File("a.png", "image/png", b"png"), File("b.pdf", "application/pdf", b"pdf")
            ),
            assistant_message(Thought("hm"), "Let me look.", ToolCall("c1", "look", '{"at": 1}')),
            user_message(ToolResult("c1", "look", "a cat")),
            user_message("Sure?"),
        ),
        tools=(Tool("look", "Looks.", Raw(b'{"type": "object"}')),),
        temperature=0.5,
        max_tokens=100,
        stop=("END",),
        json_schema=Raw(b'{"type": "string"}'),
        thinking="low",
    )
    assert json.loads(OpenAIWireFormat().encode_request(request, PROFILE)) == snapshot(
        {
            "model": "gpt-5",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is on it?"},
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
                        {
                            "type": "file",
                            "file": {"filename": "b.pdf", "file_data": "data:application/pdf;base64,cGRm"},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": "Let me look.",
                    "tool_calls": [
                        {
                            "id": "c1",
                            "type": "function",
                            "function": {"name": "look", "arguments": '{"at": 1}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
                {"role": "user", "content": "Sure?"},
            ],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.5,
            "max_completion_tokens": 100,
            "stop": ["END"],
            "reasoning_effort": "low",
            "tools": [
                {
                    "type": "function",
                    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object"}},
                }
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": {"type": "string"}},
            },
        }
    )


def test_headers_carry_the_key_only_where_there_is_one() -> None:
    assert OpenAIWireFormat().request_headers("k")["Authorization"] == "Bearer k"
    assert "Authorization" not in OpenAIWireFormat().request_headers(None)


def test_text_reasoning_usage_and_the_end() -> None:
    assert decode_chunks(
        delta_frame(role="assistant", content=""),
        delta_frame(reasoning_content="hm"),
        delta_frame(reasoning=" so"),
        delta_frame(content="Yes."),
        delta_frame("stop"),
        {
            "choices": [],
            "usage": {
                "prompt_tokens": 9,
                "completion_tokens": 4,
                "prompt_tokens_details": {"cached_tokens": 8},
                "completion_tokens_details": {"reasoning_tokens": 2},
            },
        },
    ) == [
        Thought("hm"),
        Thought(" so"),
        Text("Yes."),
        Usage(input=9, output=4, reasoning=2, cached=8),
        Done("stop"),
    ]


def test_content_in_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert decode_chunks(delta_frame("stop", content=[thinking, {"type": "text", "text": "Yes."}])) == [
        Thought("hm"),
        Text("Yes."),
        Done("stop"),
    ]


def test_tool_calls_are_joined_by_index_by_id_or_by_order() -> None:
    def call(**fields: object) -> dict[str, object]:
        return delta_frame(tool_calls=[fields])

    by_index = decode_chunks(
        call(index=0, id="a", function={"name": "f", "arguments": '{"x"'}),
        call(index=1, id="b", function={"name": "g", "arguments": "{}"}),
        call(index=0, function={"arguments": ": 1}"}),
        delta_frame("tool_calls"),
    )
    assert by_index == [ToolCall("a", "f", '{"x": 1}'), ToolCall("b", "g", "{}"), Done("tool_calls")]
    by_id = decode_chunks(
        call(id="a", function={"name": "f", "arguments": '{"x"'}),
        call(id="b", function={"name": "g", "arguments": ""}),
        call(id="a", function={"arguments": ": 1}"}),
        delta_frame("stop"),
    )
    assert by_id == by_index
    in_order = decode_chunks(
        call(id="a", function={"name": "f", "arguments": '{"x"'}),
        call(function={"arguments": ": 1}"}),
        delta_frame("stop"),
    )
    assert in_order == [ToolCall("a", "f", '{"x": 1}'), Done("tool_calls")]


def test_a_cut_call_is_never_a_call() -> None:
    cut = delta_frame(
        "length", tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x'}}]
    )
    (failed,) = decode_chunks(cut)
    assert isinstance(failed, Failed)


def test_errors_in_the_stream() -> None:
    reader = OpenAIStreamDecoder("lab")
    (failed,) = reader.decode_frame(b'{"error": {"message": "boom", "code": 502}}')
    assert isinstance(failed, Failed)
    assert failed.fault.retryable
    (plain,) = reader.decode_frame(b'{"error": "model is loading"}')
    assert isinstance(plain, Failed)
    assert "model is loading" in plain.fault.message


def test_an_ending_that_nobody_knows_is_not_taken_for_a_good_one() -> None:
    assert decode_chunks(delta_frame("eos_token", content="x")) == [Text("x"), Done("stop")]
    assert decode_chunks(delta_frame("model_length", content="x")) == [Text("x"), Done("length")]
    (_, failed) = decode_chunks(delta_frame("insufficient_system_resource", content="Half an ans"))
    assert isinstance(failed, Failed)
    assert "insufficient_system_resource" in failed.fault.message


def test_a_call_is_cut_off_even_where_its_json_is_whole() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "delete_all", "arguments": ""}}
    (failed,) = decode_chunks(delta_frame("length", tool_calls=[call]))
    assert isinstance(failed, Failed)


def test_a_call_being_written_is_a_sign_of_life() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}
    assert OpenAIStreamDecoder("lab").decode_frame(_encode_frame(delta_frame(tool_calls=[call]))) == [
        Progress(4)
    ]


def test_a_new_id_is_a_new_call_whatever_its_index_says() -> None:
    def call(id_: str) -> dict[str, object]:
        return delta_frame(tool_calls=[{"index": 0, "id": id_, "function": {"name": id_, "arguments": "{}"}}])

    assert decode_chunks(call("a"), call("b"), delta_frame("stop")) == [
        ToolCall("a", "a", "{}"),
        ToolCall("b", "b", "{}"),
        Done("tool_calls"),
    ]


def test_hostile_json_is_a_bad_response() -> None:
    reader = OpenAIStreamDecoder("lab")
    with pytest.raises(ProviderError, match="cannot be read"):
        reader.decode_frame(b'{"choices": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_models_are_listed() -> None:
    assert OpenAIWireFormat().parse_model_list(b'{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}') == [
        "a",
        "b",
    ]


@given(st.lists(st.text(min_size=1, max_size=5), max_size=10))
def test_every_piece_of_text_arrives(pieces: list[str]) -> None:
    chunks = decode_chunks(
        "",
        *(delta_frame(content=piece) for piece in ["a long first piece of text: ", *pieces]),
        delta_frame("stop"),
    )
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))
    assert text == "a long first piece of text: " + "".join(pieces)


def test_a_model_that_takes_no_temperature_is_sent_none() -> None:
    request = ModelRequest(model="gpt-5", messages=(user_message("Hi"),), temperature=0.0)
    assert "temperature" not in json.loads(
        OpenAIWireFormat().encode_request(request, Profile(temperature=False))
    )
    assert json.loads(OpenAIWireFormat().encode_request(request, Profile()))["temperature"] == 0.0
