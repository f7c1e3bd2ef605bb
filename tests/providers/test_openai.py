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
    chunks = [chunk for frame in frames for chunk in reader.decode_frame(_encode_frame(frame))] + reader.final_chunks()
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
def test_openai_decoder_maps_finish_reasons_of_all_servers(reasons: tuple[str, ...], finish: str) -> None:
    for reason in reasons:
        assert Done(finish) in decode_chunks(delta_frame(content="Yes."), delta_frame(reason))  # type: ignore[arg-type]


def test_openai_request_matches_snapshot() -> None:
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


def test_openai_request_headers_have_key_only_when_given() -> None:
    assert OpenAIWireFormat().request_headers("k")["Authorization"] == "Bearer k"
    assert "Authorization" not in OpenAIWireFormat().request_headers(None)


def test_openai_decoder_reads_text_reasoning_and_usage() -> None:
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


def test_openai_decoder_reads_content_in_parts() -> None:
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    assert decode_chunks(delta_frame("stop", content=[thinking, {"type": "text", "text": "Yes."}])) == [
        Thought("hm"),
        Text("Yes."),
        Done("stop"),
    ]


def test_openai_decoder_joins_tool_calls_by_index_id_or_order() -> None:
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


def test_openai_decoder_fails_on_incomplete_tool_call() -> None:
    cut = delta_frame("length", tool_calls=[{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x'}}])
    (failed,) = decode_chunks(cut)
    assert isinstance(failed, Failed)


def test_openai_decoder_classifies_errors_in_stream() -> None:
    reader = OpenAIStreamDecoder("lab")
    (failed,) = reader.decode_frame(b'{"error": {"message": "boom", "code": 502}}')
    assert isinstance(failed, Failed)
    assert failed.fault.retryable
    (plain,) = reader.decode_frame(b'{"error": "model is loading"}')
    assert isinstance(plain, Failed)
    assert "model is loading" in plain.fault.message


def test_openai_decoder_fails_on_unknown_finish_reason() -> None:
    assert decode_chunks(delta_frame("eos_token", content="x")) == [Text("x"), Done("stop")]
    assert decode_chunks(delta_frame("model_length", content="x")) == [Text("x"), Done("length")]
    (_, failed) = decode_chunks(delta_frame("insufficient_system_resource", content="Half an ans"))
    assert isinstance(failed, Failed)
    assert "insufficient_system_resource" in failed.fault.message


def test_openai_decoder_fails_on_unfinished_tool_call_with_valid_json() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "delete_all", "arguments": ""}}
    (failed,) = decode_chunks(delta_frame("length", tool_calls=[call]))
    assert isinstance(failed, Failed)


def test_openai_decoder_reports_progress_for_partial_tool_call() -> None:
    call = {"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x"'}}
    assert OpenAIStreamDecoder("lab").decode_frame(_encode_frame(delta_frame(tool_calls=[call]))) == [Progress(4)]


def test_openai_decoder_starts_new_call_at_new_id_despite_equal_index() -> None:
    def call(id_: str) -> dict[str, object]:
        return delta_frame(tool_calls=[{"index": 0, "id": id_, "function": {"name": id_, "arguments": "{}"}}])

    assert decode_chunks(call("a"), call("b"), delta_frame("stop")) == [
        ToolCall("a", "a", "{}"),
        ToolCall("b", "b", "{}"),
        Done("tool_calls"),
    ]


def test_openai_decoder_rejects_deeply_nested_json() -> None:
    reader = OpenAIStreamDecoder("lab")
    with pytest.raises(ProviderError, match="cannot be parsed"):
        reader.decode_frame(b'{"choices": [], "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}")


def test_openai_model_list_is_parsed() -> None:
    assert OpenAIWireFormat().parse_model_list(b'{"object": "list", "data": [{"id": "a"}, {"id": "b"}]}') == [
        "a",
        "b",
    ]


@given(st.lists(st.text(min_size=1, max_size=5), max_size=10))
def test_openai_decoder_emits_every_piece_of_text(pieces: list[str]) -> None:
    chunks = decode_chunks(
        "",
        *(delta_frame(content=piece) for piece in ["a long first piece of text: ", *pieces]),
        delta_frame("stop"),
    )
    text = "".join(chunk.text for chunk in chunks if isinstance(chunk, Text))
    assert text == "a long first piece of text: " + "".join(pieces)


def test_openai_request_omits_unsupported_temperature() -> None:
    request = ModelRequest(model="gpt-5", messages=(user_message("Hi"),), temperature=0.0)
    assert "temperature" not in json.loads(OpenAIWireFormat().encode_request(request, Profile(temperature=False)))
    assert json.loads(OpenAIWireFormat().encode_request(request, Profile()))["temperature"] == 0.0
