"""The chat completions wire format of OpenAI and compatible servers.

Request:  POST /chat/completions {model, messages, stream, …}
Response: data: {"choices": [{"delta": {"content": …}, "finish_reason": …}], "usage": …}   …   data: [DONE]
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.providers import errors
from moot.providers.dedupe import SnapshotDeduper
from moot.providers.errors import WireError
from moot.providers.wire_format import decode_leniently, is_json, parse_model_ids, token_count
from moot.types.chunks import Chunk, Done, Failed, FinishReason, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile, file_kind
from moot.types.requests import File, ModelMessage, ModelRequest, ToolResult

FINISH_REASONS: dict[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "content_filter",
}


class FunctionDelta(Struct):
    name: str | None = None
    arguments: str | None = None


class ToolDelta(Struct):
    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None


class ContentPart(Struct):
    """Some servers stream content as a list of parts, some of them thinking."""

    type: str = "text"
    text: str | None = None
    thinking: list["ContentPart"] | None = None


class Delta(Struct):
    content: str | list[ContentPart] | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    refusal: str | None = None
    tool_calls: list[ToolDelta] | None = None


class Choice(Struct):
    delta: Delta | None = None
    finish_reason: str | None = None


class InputDetails(Struct):
    cached_tokens: int | None = None


class OutputDetails(Struct):
    reasoning_tokens: int | None = None


class WireUsage(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: InputDetails | None = None
    completion_tokens_details: OutputDetails | None = None


class Frame(Struct):
    choices: list[Choice] | None = None
    usage: Raw = Raw(b"null")  # decoded separately: invalid usage must not lose the text of the frame
    error: WireError | str | None = None


_frame_decoder = msgspec.json.Decoder(Frame)
_usage_decoder = msgspec.json.Decoder(WireUsage | None)


class OpenAIWireFormat:
    api = "openai"
    models_path = "/models"

    def request_path(self, model: str) -> str:  # noqa: ARG002 - the model is in the body
        return "/chat/completions"

    def request_headers(self, key: str | None) -> Mapping[str, str]:
        content = {"Content-Type": "application/json"}
        return {**content, "Authorization": f"Bearer {key}"} if key else content

    def encode_request(self, request: ModelRequest, profile: Profile) -> bytes:
        return msgspec.json.encode(self.request_fields(request, profile))

    def request_fields(self, request: ModelRequest, profile: Profile) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": request.model,
            "messages": list(_encode_messages(request)),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if request.temperature is not None and profile.temperature:
            fields["temperature"] = request.temperature
        if request.max_tokens is not None:
            fields[profile.max_tokens_field] = request.max_tokens
        if request.stop:
            fields["stop"] = request.stop
        if request.thinking and profile.thinking != "none":
            fields["reasoning_effort"] = request.thinking
        if request.tools:
            fields["tools"] = [{"type": "function", "function": msgspec.structs.asdict(t)} for t in request.tools]
        if request.json_schema is not None and profile.json_schema:
            schema = {"name": "answer", "schema": request.json_schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        return fields

    def create_decoder(self, provider_name: str, key: str | None) -> "OpenAIStreamDecoder":
        return OpenAIStreamDecoder(provider_name, key)

    def parse_model_list(self, body: bytes) -> list[str]:
        return parse_model_ids(body)


def _encode_messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        for result in message.parts:
            if isinstance(result, ToolResult):
                yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
        if encoded := _encode_message(message):
            yield encoded


def _encode_message(message: ModelMessage) -> dict[str, Any] | None:
    parts = [_encode_part(part) for part in message.parts if isinstance(part, Text | File)]
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    if not parts and not calls:
        return None
    text_only = all(part["type"] == "text" for part in parts)
    content = "\n\n".join(part["text"] for part in parts) if text_only else parts
    encoded: dict[str, Any] = {"role": message.role, "content": content}
    return {**encoded, "tool_calls": calls} if calls else encoded


def _encode_part(part: Text | File) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{b64encode(part.data).decode()}"
    if file_kind(part.media_type) == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": part.name, "file_data": url}}


class PendingToolCall(Struct):
    id: str
    name: str = ""
    arguments: list[str] = []

    def to_tool_call(self) -> ToolCall | None:
        arguments = "".join(self.arguments) or "{}"
        return ToolCall(self.id, self.name, arguments) if is_json(arguments) else None


class OpenAIStreamDecoder:
    def __init__(self, provider_name: str, key: str | None = None) -> None:
        self._provider_name = provider_name
        self._key = key
        self.finish_reason: str | None = None
        self._calls: dict[str | int, PendingToolCall] = {}
        self._last_call: str | int = 0
        self._snapshots = SnapshotDeduper()

    def decode_frame(self, frame: bytes) -> list[Chunk]:
        if frame == b"[DONE]":
            return self.final_chunks()
        if not frame:
            return []
        data = decode_leniently(_frame_decoder, frame)
        if data.error is not None:
            return [Failed(errors.fault_from_error(self._provider_name, data.error, key=self._key))]
        chunks: list[Chunk] = []
        if data.choices:
            choice = data.choices[0]
            if choice.delta is not None:
                self._read_delta(choice.delta, chunks)
            self.finish_reason = choice.finish_reason or self.finish_reason
        if (usage := _decode_usage(data.usage)) is not None:
            chunks.append(usage)
        return chunks

    def final_chunks(self) -> list[Chunk]:
        if self.finish_reason not in FINISH_REASONS:
            return [Failed(errors.early_end_fault(self._provider_name, self.finish_reason, self._key))]
        finish = FINISH_REASONS[self.finish_reason]
        calls = [call.to_tool_call() for call in self._calls.values()]
        complete = [call for call in calls if call is not None]
        # A call cut at the token limit may still be valid JSON, so `length` rejects all calls.
        if calls and (finish == "length" or len(complete) < len(calls)):
            return [Failed(errors.partial_call_fault(next(iter(self._calls.values())).name))]
        if finish == "content_filter":
            return [Done(finish)]
        return [*complete, Done("tool_calls" if complete else finish)]

    def _read_delta(self, delta: Delta, chunks: list[Chunk]) -> None:
        if thought := delta.reasoning_content or delta.reasoning:
            chunks.append(Thought(thought))
        content = delta.content or delta.refusal
        if isinstance(content, list):
            chunks += _content_chunks(content)
        elif content and (text := self._snapshots.new_text(content)):
            chunks.append(Text(text))
        for call in delta.tool_calls or ():
            chunks.append(Progress(self._append_call_delta(call)))

    def _append_call_delta(self, delta: ToolDelta) -> int:
        """Append to a pending call and return the number of new characters.

        The key of the call is the index, else the id, else the last call: some servers leave out both.
        """
        key = delta.index if delta.index is not None else delta.id or self._last_call
        if delta.id and key in self._calls and self._calls[key].id != delta.id:
            key = delta.id  # a new id is a new call, even with a repeated index
        call = self._calls.setdefault(key, PendingToolCall(delta.id or f"call_{key}"))
        self._last_call = key
        if delta.function is None:
            return 0
        call.name = call.name or delta.function.name or ""
        call.arguments.append(delta.function.arguments or "")
        return len(call.arguments[-1])


def _content_chunks(content: list[ContentPart]) -> Iterator[Chunk]:
    for part in content:
        if part.thinking:
            yield Thought("".join(piece.text or "" for piece in part.thinking))
        elif part.text:
            yield Text(part.text)


def _decode_usage(raw_usage: Raw) -> Usage | None:
    try:
        usage = _usage_decoder.decode(raw_usage)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if usage is None:
        return None
    input_details, output_details = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input=token_count(usage.prompt_tokens),
        output=token_count(usage.completion_tokens),
        reasoning=token_count(output_details.reasoning_tokens if output_details else 0),
        cached=token_count(input_details.cached_tokens if input_details else 0),
    )
