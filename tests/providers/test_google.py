import json
from typing import Any

from inline_snapshot import snapshot
from msgspec import Raw

from moot.providers.google import GoogleStreamDecoder, GoogleWireFormat
from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile
from moot.types.requests import File, ModelRequest, Tool, ToolResult, assistant_message, user_message

REQUEST = ModelRequest(
    model="gemini-x",
    system="Be brief.",
    messages=(
        user_message("What is on it?", File("a.png", "image/png", b"png"), File("b.pdf", "application/pdf", b"pdf")),
        assistant_message(Thought("hm"), "Let me look.", ToolCall("c1", "look", '{"at": 1}', "proof")),
        user_message(ToolResult("c1", "look", "a cat"), ToolResult("c2", "look", "dark", is_error=True)),
    ),
    tools=(Tool("look", "Looks.", Raw(b'{"type": "object"}')),),
    temperature=0.5,
    max_tokens=100,
    stop=("END",),
    json_schema=Raw(b'{"type": "string"}'),
    thinking="low",
)


def decode_chunks(*frames: dict[str, Any]) -> list[Chunk]:
    reader = GoogleStreamDecoder("lab")
    chunks = [
        chunk for frame in frames for chunk in reader.decode_frame(json.dumps(frame).encode())
    ] + reader.final_chunks()
    return [chunk for chunk in chunks if not isinstance(chunk, Progress)]


def candidate_frame(*parts: dict[str, Any], finish: str | None = None, **fields: object) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": finish}], **fields}


def test_google_request_matches_snapshot() -> None:
    assert json.loads(GoogleWireFormat().encode_request(REQUEST, Profile(thinking="effort"))) == snapshot(
        {
            "contents": [
                {
                    "role": "user",
                    "parts": [
                        {"text": "What is on it?"},
                        {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
                        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {"text": "Let me look."},
                        {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "proof"},
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "look", "response": {"result": "a cat"}}},
                        {"functionResponse": {"name": "look", "response": {"error": "dark"}}},
                    ],
                },
            ],
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [
                {
                    "functionDeclarations": [
                        {"name": "look", "description": "Looks.", "parametersJsonSchema": {"type": "object"}}
                    ]
                }
            ],
            "generationConfig": {
                "temperature": 0.5,
                "maxOutputTokens": 100,
                "stopSequences": ["END"],
                "responseMimeType": "application/json",
                "responseJsonSchema": {"type": "string"},
                "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "low"},
            },
        }
    )


def test_google_request_has_thinking_budget_for_older_models() -> None:
    body = json.loads(GoogleWireFormat().encode_request(REQUEST, Profile(thinking="budget")))
    assert body["generationConfig"]["thinkingConfig"] == {"includeThoughts": True, "thinkingBudget": 1024}


def test_google_request_path_escapes_model_name() -> None:
    assert GoogleWireFormat().request_path("gemini-x") == "/models/gemini-x:streamGenerateContent?alt=sse"
    assert GoogleWireFormat().request_path("../x?y") == "/models/..%2Fx%3Fy:streamGenerateContent?alt=sse"


def test_google_decoder_reads_thoughts_text_and_usage() -> None:
    usage = {
        "promptTokenCount": 9,
        "candidatesTokenCount": 2,
        "thoughtsTokenCount": 3,
        "cachedContentTokenCount": 4,
    }
    assert decode_chunks(
        candidate_frame({"text": "hm", "thought": True}),
        candidate_frame({"text": "Yes"}),
        candidate_frame({"text": "."}, finish="STOP", usageMetadata=usage),
    ) == [
        Thought("hm"),
        Text("Yes"),
        Text("."),
        Usage(input=9, output=5, reasoning=3, cached=4),
        Done("stop"),
    ]


def test_google_decoder_reads_function_calls_with_signature() -> None:
    call = {"functionCall": {"name": "look", "args": {"at": 1}}, "thoughtSignature": "proof"}
    assert decode_chunks(candidate_frame(call, {"functionCall": {"name": "now"}}, finish="STOP")) == [
        ToolCall("call_1", "look", '{"at": 1}', "proof"),
        ToolCall("call_2", "now", "{}"),
        Done("tool_calls"),
    ]


def test_google_decoder_maps_blocked_prompt_and_finish_reasons() -> None:
    (failed, *_) = decode_chunks({"promptFeedback": {"blockReason": "SAFETY"}})
    assert isinstance(failed, Failed)
    assert failed.fault.kind == "content_blocked"
    assert decode_chunks(candidate_frame(finish="SAFETY"))[-1] == Done("content_filter")
    assert decode_chunks(candidate_frame(finish="MAX_TOKENS"))[-1] == Done("length")


def test_google_decoder_fails_on_malformed_function_call() -> None:
    chunks = decode_chunks(candidate_frame(finish="MALFORMED_FUNCTION_CALL"))
    assert [type(chunk) for chunk in chunks] == [Failed]


def test_google_decoder_tolerates_invalid_utf8_in_arguments() -> None:
    reader = GoogleStreamDecoder("lab")
    frame = b'{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"a":"\xff"}}}]},"finishReason":"STOP"}]}'
    chunks = reader.decode_frame(frame) + reader.final_chunks()
    assert isinstance(chunks[-1], Done | Failed)


def test_google_decoder_fails_on_unknown_finish_reason() -> None:
    (*_, failed) = decode_chunks(candidate_frame({"text": "Half an ans"}, finish="OTHER"))
    assert isinstance(failed, Failed)
    assert "OTHER" in failed.fault.message


def test_google_model_list_has_only_generating_models() -> None:
    body = {
        "models": [
            {"name": "models/gemini-x", "supportedGenerationMethods": ["generateContent"]},
            {"name": "models/embedding", "supportedGenerationMethods": ["embedContent"]},
        ]
    }
    assert GoogleWireFormat().parse_model_list(json.dumps(body).encode()) == ["gemini-x"]
