"""The generateContent wire format of Google Gemini.

Request:  POST /models/{model}:streamGenerateContent?alt=sse {contents, systemInstruction, generationConfig, …}
Response: data: {"candidates": [{"content": {"parts": […]}, "finishReason": …}], "usageMetadata": …}

The stream has no closing event.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import msgspec
from msgspec import Raw, Struct

from moot.providers import errors
from moot.providers.dedupe import OverlapDeduper
from moot.providers.errors import WireError
from moot.providers.wire_format import decode_leniently, token_count
from moot.types.chunks import Chunk, Done, Failed, Progress, Text, Thought, ToolCall, Usage
from moot.types.faults import make_fault
from moot.types.model_info import Profile
from moot.types.requests import Effort, File, ModelRequest, Part, ToolResult

THINKING_BUDGETS: dict[Effort, int] = {"low": 1024, "medium": 8192, "high": 24576}
BLOCK_REASONS = {
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
}
BAD_CALL_REASONS = {"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS"}


class FunctionCall(Struct):
    name: str = ""
    id: str | None = None
    args: Raw = Raw(b"{}")


class WirePart(Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str = ""
    function_call: FunctionCall | None = None


class Content(Struct):
    parts: list[WirePart] | None = None


class Candidate(Struct, rename="camel"):
    content: Content | None = None
    finish_reason: str | None = None


class WireUsage(Struct, rename="camel"):
    prompt_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    cached_content_token_count: int | None = None


class PromptFeedback(Struct, rename="camel"):
    block_reason: str | None = None


class Frame(Struct, rename="camel"):
    candidates: list[Candidate] | None = None
    usage_metadata: WireUsage | None = None
    prompt_feedback: PromptFeedback | None = None
    error: WireError | str | None = None


class ModelEntry(Struct, rename="camel"):
    name: str
    supported_generation_methods: list[str] = []


class GoogleModelList(Struct):
    models: list[ModelEntry]


_frame_decoder = msgspec.json.Decoder(Frame)
_model_list_decoder = msgspec.json.Decoder(GoogleModelList)


class GoogleWireFormat:
    api = "google"
    models_path = "/models?pageSize=1000"

    def request_path(self, model: str) -> str:
        return f"/models/{quote(model, safe='')}:streamGenerateContent?alt=sse"

    def request_headers(self, key: str | None) -> Mapping[str, str]:
        content = {"Content-Type": "application/json"}
        return {**content, "x-goog-api-key": key} if key else content

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes:
        body: dict[str, Any] = {
            "contents": [
                {
                    "role": "model" if message.role == "assistant" else "user",
                    # Thoughts are not sent back. Their signatures are sent with the tool calls instead.
                    "parts": [_encode_part(part) for part in message.parts if not isinstance(part, Thought)],
                }
                for message in request.messages
            ]
        }
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": request.system}]}
        if request.tools:
            declarations = [
                {"name": t.name, "description": t.description, "parametersJsonSchema": t.parameters}
                for t in request.tools
            ]
            body["tools"] = [{"functionDeclarations": declarations}]
        if config := _generation_config(request, profile):
            body["generationConfig"] = config
        return msgspec.json.encode(body)

    def create_decoder(self, provider_name: str, key: str | None) -> "GoogleStreamDecoder":
        return GoogleStreamDecoder(provider_name, key)

    def parse_model_list(self, body: bytes) -> list[str]:
        return [
            entry.name.removeprefix("models/")
            for entry in _model_list_decoder.decode(body).models
            if "generateContent" in entry.supported_generation_methods
        ]


def _generation_config(request: ModelRequest, profile: Profile) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_tokens is not None:
        config["maxOutputTokens"] = request.max_tokens
    if request.stop:
        config["stopSequences"] = request.stop
    if request.json_schema is not None and profile.json_schema:
        config |= {"responseMimeType": "application/json", "responseJsonSchema": request.json_schema}
    if request.thinking and profile.thinking == "effort":
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingLevel": request.thinking}
    elif request.thinking and profile.thinking == "budget":
        config["thinkingConfig"] = {"includeThoughts": True, "thinkingBudget": THINKING_BUDGETS[request.thinking]}
    return config


def _encode_part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text) | Thought(text):
            return {"text": text}
        case File(_, media_type, data):
            return {"inlineData": {"mimeType": media_type, "data": b64encode(data).decode()}}
        case ToolCall(_, name, arguments, signature):
            call: dict[str, Any] = {"functionCall": {"name": name, "args": Raw(arguments.encode())}}
            return {**call, "thoughtSignature": signature} if signature else call
        case ToolResult(_, name, content, is_error):
            response = {"error" if is_error else "result": content}
            return {"functionResponse": {"name": name, "response": response}}


class GoogleStreamDecoder:
    def __init__(self, provider_name: str, key: str | None = None) -> None:
        self._provider_name = provider_name
        self._key = key
        self.finish_reason: str | None = None
        self._calls: list[ToolCall] = []
        self._overlaps = OverlapDeduper()

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        if not frame:
            return []
        data = decode_leniently(_frame_decoder, frame)
        if data.error is not None:
            return [Failed(errors.fault_from_error(self._provider_name, data.error, key=self._key))]
        if data.prompt_feedback is not None and data.prompt_feedback.block_reason:
            reason = errors.redact(data.prompt_feedback.block_reason, self._key)
            return [Failed(make_fault("content_blocked", f"{self._provider_name} blocked the prompt ({reason})."))]
        usage = data.usage_metadata
        chunks: list[Chunk] = []
        for candidate in data.candidates or ():
            if candidate.content is not None:
                for part in candidate.content.parts or ():
                    self._read_part(part, usage.candidates_token_count if usage else None, chunks)
            self.finish_reason = candidate.finish_reason or self.finish_reason
        if usage is not None:
            chunks.append(_convert_usage(usage))
        return chunks

    def final_chunks(self) -> list[Chunk]:
        match self.finish_reason:
            case "STOP":
                return [*self._calls, Done("tool_calls" if self._calls else "stop")]
            case "MAX_TOKENS" if self._calls:
                return [Failed(errors.partial_call_fault(self._calls[-1].name))]
            case "MAX_TOKENS":
                return [Done("length")]
            case reason if reason in BLOCK_REASONS:
                return [Done("content_filter")]
            case reason if reason in BAD_CALL_REASONS:
                return [
                    Failed(
                        make_fault("bad_response", f"{self._provider_name} could not finish a tool call ({reason}).")
                    )
                ]
        return [Failed(errors.early_end_fault(self._provider_name, self.finish_reason, self._key))]

    def _read_part(self, part: WirePart, tokens: int | None, chunks: list[Chunk]) -> None:
        if part.function_call is not None:
            call = part.function_call
            arguments = bytes(call.args).decode("utf-8", "replace")
            default_id = f"call_{len(self._calls) + 1}"
            self._calls.append(ToolCall(call.id or default_id, call.name, arguments, part.thought_signature))
            chunks.append(Progress(len(arguments)))
        elif part.text and part.thought:
            chunks.append(Thought(part.text))
        elif part.text and (text := self._overlaps.new_text(part.text, tokens)):
            chunks.append(Text(text))


def _convert_usage(usage: WireUsage) -> Usage:
    thoughts = token_count(usage.thoughts_token_count)
    return Usage(
        input=token_count(usage.prompt_token_count),
        output=token_count(usage.candidates_token_count) + thoughts,
        reasoning=thoughts,
        cached=token_count(usage.cached_content_token_count),
    )
