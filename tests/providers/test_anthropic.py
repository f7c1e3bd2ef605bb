import json
from typing import Any

import msgspec
from inline_snapshot import snapshot
from msgspec import Raw

from moot.providers.anthropic import AnthropicStreamDecoder, AnthropicWireFormat
from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest, Tool, ToolResult, assistant_message, user_message

START_FRAME = {"type": "message_start", "message": {"usage": {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 10, "output_tokens": 1}}}  # fmt: skip


def decode_chunks(*frames: dict[str, Any]) -> list[Chunk]:
    reader = AnthropicStreamDecoder("lab")
    chunks = [chunk for frame in frames for chunk in reader.decode_frame(json.dumps(frame).encode())]
    return [chunk for chunk in chunks if not isinstance(chunk, Progress)]


def block_start_frame(**fields: object) -> dict[str, Any]:
    return {"type": "content_block_start", "index": 0, "content_block": fields}


def block_delta_frame(**fields: object) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": fields}


def end_frames(reason: str, output: int = 7) -> tuple[dict[str, Any], dict[str, Any]]:
    finish = {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": output}}
    return finish, {"type": "message_stop"}


REQUEST = ModelRequest(
    model="claude-x",
    system="Be brief.",
    messages=(
        user_message("What is on it?", File("a.png", "image/png", b"png"), File("b.pdf", "application/pdf", b"pdf")),
        assistant_message(
            Thought("unsigned"), Thought("hm", "proof"), "Let me look.", ToolCall("c1", "look", '{"at": 1}')
        ),
        user_message(ToolResult("c1", "look", "a cat")),
    ),
    tools=(Tool("look", "Looks.", Raw(b'{"type": "object"}')),),
    temperature=0.5,
    stop=("END",),
    json_schema=Raw(b'{"type": "string"}'),
    thinking="low",
)


def test_anthropic_request_matches_snapshot_with_cache_control() -> None:
    body = AnthropicWireFormat().encode_request(REQUEST, Profile(thinking="effort", default_max_tokens=1000))
    assert json.loads(body) == snapshot(
        {
            "model": "claude-x",
            "max_tokens": 1000,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": "What is on it?"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"},
                        },
                        {
                            "type": "document",
                            "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
                        },
                    ],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "hm", "signature": "proof"},
                        {"type": "text", "text": "Let me look."},
                        {
                            "type": "tool_use",
                            "id": "c1",
                            "name": "look",
                            "input": {"at": 1},
                            "cache_control": {"type": "ephemeral"},
                        },
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a cat", "is_error": False}],
                },
            ],
            "stream": True,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "stop_sequences": ["END"],
            "tools": [{"name": "look", "description": "Looks.", "input_schema": {"type": "object"}}],
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {
                "format": {"type": "json_schema", "schema": {"type": "string"}},
                "effort": "low",
            },
        }
    )


def test_anthropic_request_adds_thinking_budget_to_max_tokens_for_older_models() -> None:
    body = json.loads(
        AnthropicWireFormat().encode_request(
            REQUEST, Profile(thinking="budget", json_schema=False, default_max_tokens=1000)
        )
    )
    assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}
    assert body["max_tokens"] == 3048
    assert "output_config" not in body


def test_anthropic_decoder_reads_text_thinking_and_split_usage() -> None:
    assert decode_chunks(
        START_FRAME,
        {"type": "ping"},
        block_start_frame(type="thinking", thinking=""),
        block_delta_frame(type="thinking_delta", thinking="hm"),
        block_delta_frame(type="signature_delta", signature="proof"),
        {"type": "content_block_stop", "index": 0},
        block_start_frame(type="text", text=""),
        block_delta_frame(type="text_delta", text="Yes."),
        {"type": "content_block_stop", "index": 0},
        *end_frames("end_turn"),
    ) == [
        Usage(input=105, output=1, cached=90, cache_written=10),
        Thought("hm"),
        Thought("", "proof"),
        Text("Yes."),
        Usage(input=105, output=7, cached=90, cache_written=10),
        Done("stop"),
    ]


def test_anthropic_decoder_reads_tool_use() -> None:
    chunks = decode_chunks(
        block_start_frame(type="tool_use", id="t1", name="look", input={}),
        block_delta_frame(type="input_json_delta", partial_json='{"at"'),
        block_delta_frame(type="input_json_delta", partial_json=": 1}"),
        {"type": "content_block_stop", "index": 0},
        *end_frames("tool_use"),
    )
    assert chunks[-2:] == [ToolCall("t1", "look", '{"at": 1}'), Done("tool_calls")]


def test_anthropic_decoder_fails_on_incomplete_tool_call() -> None:
    chunks = decode_chunks(
        block_start_frame(type="tool_use", id="t1", name="look"),
        block_delta_frame(type="input_json_delta", partial_json='{"at"'),
        *end_frames("max_tokens"),
    )
    assert isinstance(chunks[-1], Failed)
    assert not [chunk for chunk in chunks if isinstance(chunk, ToolCall)]


def test_anthropic_decoder_fails_on_unfinished_tool_call_with_valid_json() -> None:
    begun = block_start_frame(type="tool_use", id="t1", name="delete_all")
    stopped = {"type": "content_block_stop", "index": 0}
    for frames in ([begun, stopped, *end_frames("max_tokens")], [begun, *end_frames("tool_use")]):
        chunks = decode_chunks(*frames)
        assert isinstance(chunks[-1], Failed)
        assert not [chunk for chunk in chunks if isinstance(chunk, ToolCall)]


def test_anthropic_decoder_reports_progress_for_partial_tool_call() -> None:
    reader = AnthropicStreamDecoder("lab")
    reader.decode_frame(json.dumps(block_start_frame(type="tool_use", id="t1", name="look")).encode())
    frame = json.dumps(block_delta_frame(type="input_json_delta", partial_json='{"at"')).encode()
    assert reader.decode_frame(frame) == [Progress(5)]


def test_anthropic_decoder_fails_on_unknown_stop_reason() -> None:
    (*_, failed) = decode_chunks(*end_frames("shrugged"))
    assert isinstance(failed, Failed)
    assert "shrugged" in failed.fault.message


def test_anthropic_request_has_temperature_only_without_thinking() -> None:
    calm = AnthropicWireFormat().encode_request(
        msgspec.structs.replace(REQUEST, thinking=None), Profile(thinking="effort")
    )
    assert json.loads(calm)["temperature"] == 0.5


def test_anthropic_request_encodes_text_file_as_text_document() -> None:
    asked = ModelRequest(model="x", messages=(user_message(File("a.txt", "text/plain", b"hi")),))
    (part,) = json.loads(AnthropicWireFormat().encode_request(asked, Profile()))["messages"][0]["content"]
    assert part["source"] == {"type": "text", "media_type": "text/plain", "data": "hi"}


def test_anthropic_decoder_maps_refusal_and_max_tokens() -> None:
    assert decode_chunks(*end_frames("refusal"))[-1] == Done("content_filter")
    assert decode_chunks(*end_frames("max_tokens"))[-1] == Done("length")


def test_anthropic_decoder_classifies_error_event() -> None:
    (failed,) = decode_chunks({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})
    assert isinstance(failed, Failed)
    assert failed.fault.kind == "overloaded"


def test_anthropic_decoder_fails_when_stream_ends_early() -> None:
    reader = AnthropicStreamDecoder("lab")
    reader.decode_frame(json.dumps(block_delta_frame(type="text_delta", text="Ye")).encode())
    (failed,) = reader.final_chunks()
    assert isinstance(failed, Failed)
    assert "incomplete" in failed.fault.message


def test_anthropic_request_headers_have_key_only_when_given() -> None:
    assert AnthropicWireFormat().request_headers("k")["x-api-key"] == "k"
    assert "x-api-key" not in AnthropicWireFormat().request_headers(None)


def test_anthropic_request_omits_unsupported_temperature() -> None:
    calm = msgspec.structs.replace(REQUEST, thinking=None)
    assert "temperature" not in json.loads(AnthropicWireFormat().encode_request(calm, Profile(temperature=False)))
