"""The messages wire format of Anthropic.

Request:  POST /messages {model, max_tokens, system, messages, stream, …}
Response: message_start, then per block content_block_start / _delta / _stop, then message_delta, message_stop
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.providers import errors
from moot.providers.dedupe import SnapshotDeduper
from moot.providers.errors import WireError
from moot.providers.wire_format import decode_leniently, is_json, parse_model_ids, token_count
from moot.types.chunks import Chunk, Done, Failed, FinishReason, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile, file_kind
from moot.types.requests import Effort, File, ModelMessage, ModelRequest, Part, ToolResult

FINISH_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
THINKING_BUDGETS: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 15360}
CACHE_CONTROL = {"cache_control": {"type": "ephemeral"}}


class Block(Struct):
    type: str = "text"
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""


class Delta(Struct):
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class WireUsage(Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class MessageStart(Struct):
    usage: WireUsage | None = None


class Frame(Struct):
    type: str = ""
    delta: Delta | None = None
    content_block: Block | None = None
    message: MessageStart | None = None
    usage: WireUsage | None = None
    error: WireError | str | None = None


_frame_decoder = msgspec.json.Decoder(Frame)


class AnthropicWireFormat:
    api = "anthropic"
    models_path = "/models?limit=1000"

    def request_path(self, model: str) -> str:  # noqa: ARG002 - the model is in the body
        return "/messages"

    def request_headers(self, key: str | None) -> Mapping[str, str]:
        version = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
        return {**version, "x-api-key": key} if key else version

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes:
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens or profile.default_max_tokens,
            "messages": _encode_messages(request.messages),
            "stream": True,
        }
        if request.system:
            body["system"] = [{"type": "text", "text": request.system, **CACHE_CONTROL}]
        if request.stop:
            body["stop_sequences"] = request.stop
        if request.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters} for t in request.tools
            ]
        output: dict[str, Any] = {}
        if request.json_schema is not None and profile.json_schema:
            output["format"] = {"type": "json_schema", "schema": request.json_schema}
        if request.thinking and profile.thinking == "effort":
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
            output["effort"] = request.thinking
        elif request.thinking and profile.thinking == "budget":
            budget = THINKING_BUDGETS[request.thinking]
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            body["max_tokens"] += budget  # max_tokens includes thinking
        if output:
            body["output_config"] = output
        has_temperature = request.temperature is not None and profile.temperature
        if has_temperature and "thinking" not in body:  # the API rejects a request with both
            body["temperature"] = request.temperature
        return msgspec.json.encode(body)

    def create_decoder(self, provider_name: str, key: str | None) -> "AnthropicStreamDecoder":
        return AnthropicStreamDecoder(provider_name, key)

    def parse_model_list(self, body: bytes) -> list[str]:
        return parse_model_ids(body)


def _encode_messages(messages: tuple[ModelMessage, ...]) -> list[dict[str, Any]]:
    """Encode the messages, with a cache breakpoint before the newest one, since the earlier ones do not change."""
    contents = [[_encode_part(part) for part in m.parts if _is_sendable(part)] for m in messages]
    if len(contents) > 1 and contents[-2]:
        contents[-2][-1] |= CACHE_CONTROL
    return [{"role": m.role, "content": content} for m, content in zip(messages, contents, strict=True)]


def _is_sendable(part: Part) -> bool:
    """Filter thoughts without a signature, which the API rejects."""
    return not isinstance(part, Thought) or bool(part.signature)


def _encode_part(part: Part) -> dict[str, Any]:
    match part:
        case Text(text):
            return {"type": "text", "text": text}
        case Thought(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case File(_, media_type, data) if file_kind(media_type) == "text":
            written = {"type": "text", "media_type": "text/plain", "data": data.decode("utf-8", "replace")}
            return {"type": "document", "source": written}
        case File(_, media_type, data):
            kind = "image" if file_kind(media_type) == "image" else "document"
            source = {"type": "base64", "media_type": media_type, "data": b64encode(data).decode()}
            return {"type": kind, "source": source}
        case ToolCall(id, name, arguments):
            return {"type": "tool_use", "id": id, "name": name, "input": Raw(arguments.encode())}
        case ToolResult(call_id, _, content, is_error):
            return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": is_error}


class AnthropicStreamDecoder:
    def __init__(self, provider_name: str, key: str | None = None) -> None:
        self._provider_name = provider_name
        self._key = key
        self.finish_reason: str | None = None
        self._usage = WireUsage()
        self._open_tool: Block | None = None
        self._arguments: list[str] = []
        self._calls: list[ToolCall] = []
        self._snapshots = SnapshotDeduper()

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        data = decode_leniently(_frame_decoder, frame) if frame else Frame()
        match data.type:
            case "content_block_delta" if data.delta is not None:
                return self._read_delta(data.delta)
            case "content_block_start" if data.content_block is not None:
                return self._start_block(data.content_block)
            case "content_block_stop":
                return self._finish_block()
            case "message_start" if data.message is not None:
                return self._merge_usage(data.message.usage)
            case "message_delta":
                self.finish_reason = (data.delta and data.delta.stop_reason) or self.finish_reason
                return self._merge_usage(data.usage)
            case "message_stop":
                return self.final_chunks()
            case _ if data.error is not None:
                return [Failed(errors.fault_from_error(self._provider_name, data.error, key=self._key))]
        return []

    def final_chunks(self) -> list[Chunk]:
        if self.finish_reason not in FINISH_REASONS:
            return [Failed(errors.early_end_fault(self._provider_name, self.finish_reason, self._key))]
        finish = FINISH_REASONS[self.finish_reason]
        if self._open_tool is not None or (self._calls and finish == "length"):
            return [
                Failed(errors.partial_call_fault(self._open_tool.name if self._open_tool else self._calls[-1].name))
            ]
        if finish == "content_filter":
            return [Done(finish)]
        return [*self._calls, Done("tool_calls" if self._calls else finish)]

    def _read_delta(self, delta: Delta) -> list[Chunk]:
        if delta.text:
            text = self._snapshots.new_text(delta.text)
            return [Text(text)] if text else []
        if delta.thinking:
            return [Thought(delta.thinking)]
        if delta.signature:
            return [Thought("", delta.signature)]
        if delta.partial_json:
            self._arguments.append(delta.partial_json)
            return [Progress(len(delta.partial_json))]
        return []

    def _start_block(self, block: Block) -> list[Chunk]:
        if block.type == "tool_use":
            self._open_tool = block
            self._arguments = []
        if block.text:
            return [Text(block.text)]
        return [Thought(block.thinking)] if block.thinking else []

    def _finish_block(self) -> list[Chunk]:
        if self._open_tool is not None:
            arguments = "".join(self._arguments) or "{}"
            if not is_json(arguments):
                return [Failed(errors.partial_call_fault(self._open_tool.name))]
            self._calls.append(ToolCall(self._open_tool.id, self._open_tool.name, arguments))
            self._open_tool = None
        return []

    def _merge_usage(self, usage: WireUsage | None) -> list[Chunk]:
        """Merge the token counts of message_start and message_delta; either may omit fields."""
        if usage is None:
            return []
        for field in WireUsage.__struct_fields__:
            if (count := getattr(usage, field)) is not None:
                setattr(self._usage, field, count)
        merged = self._usage
        read = token_count(merged.cache_read_input_tokens)
        written = token_count(merged.cache_creation_input_tokens)
        return [
            Usage(
                input=token_count(merged.input_tokens) + read + written,
                output=token_count(merged.output_tokens),
                cached=read,
                cache_written=written,
            )
        ]
