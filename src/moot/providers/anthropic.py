"""The messages format of Anthropic.

Request:  POST /messages {model, max_tokens, system, messages, stream, …}
Answer:   message_start, then per block content_block_start / _delta / _stop, then message_delta, message_stop
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.providers import errors
from moot.providers.dedupe import Snapshots
from moot.providers.errors import WireError
from moot.providers.wire_json import decode, is_json, read_listing, tokens
from moot.types.chunks import Chunk, Done, Failed, Finish, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile, file_kind
from moot.types.requests import Effort, File, Message, ModelRequest, Part, ToolResult

FINISH: dict[str, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
BUDGETS: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 15360}
CACHED = {"cache_control": {"type": "ephemeral"}}


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


class Opening(Struct):
    usage: WireUsage | None = None


class Frame(Struct):
    type: str = ""
    delta: Delta | None = None
    content_block: Block | None = None
    message: Opening | None = None
    usage: WireUsage | None = None
    error: WireError | str | None = None


_frames = msgspec.json.Decoder(Frame)


class AnthropicWire:
    api = "anthropic"

    def url(self, model: str) -> str:  # noqa: ARG002 - the model is named in the body
        return "/messages"

    def headers(self, key: str | None) -> Mapping[str, str]:
        version = {"Content-Type": "application/json", "anthropic-version": "2023-06-01"}
        return {**version, "x-api-key": key} if key else version

    def body(self, request: ModelRequest, profile: Profile) -> bytes:
        body: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens or profile.default_max_tokens,
            "messages": _messages(request.messages),
            "stream": True,
        }
        if request.system:
            body["system"] = [{"type": "text", "text": request.system, **CACHED}]
        if request.stop:
            body["stop_sequences"] = request.stop
        if request.tools:
            body["tools"] = [
                {"name": t.name, "description": t.description, "input_schema": t.parameters}
                for t in request.tools
            ]
        output: dict[str, Any] = {}
        if request.json_schema is not None and profile.json_schema:
            output["format"] = {"type": "json_schema", "schema": request.json_schema}
        if request.thinking and profile.thinking == "effort":
            body["thinking"] = {"type": "adaptive", "display": "summarized"}
            output["effort"] = request.thinking
        elif request.thinking and profile.thinking == "budget":
            budget = BUDGETS[request.thinking]
            body["thinking"] = {"type": "enabled", "budget_tokens": budget}
            body["max_tokens"] += budget
        if output:
            body["output_config"] = output
        wanted = request.temperature is not None and profile.temperature
        if wanted and "thinking" not in body:  # the two exclude each other
            body["temperature"] = request.temperature
        return msgspec.json.encode(body)

    def reader(self, who: str, key: str | None) -> "AnthropicReader":
        return AnthropicReader(who, key)

    def models_url(self) -> str:
        return "/models?limit=1000"

    def read_models(self, body: bytes) -> list[str]:
        return read_listing(body)


def _messages(messages: tuple[Message, ...]) -> list[dict[str, Any]]:
    """Write the history, with a cache mark at its end: all before the newest message stays the same."""
    contents = [[_part(part) for part in m.parts if _sendable(part)] for m in messages]
    if len(contents) > 1 and contents[-2]:
        contents[-2][-1] |= CACHED
    return [{"role": m.role, "content": content} for m, content in zip(messages, contents, strict=True)]


def _sendable(part: Part) -> bool:
    """Thoughts go back only with the proof that Anthropic wrote them."""
    return not isinstance(part, Thought) or bool(part.signature)


def _part(part: Part) -> dict[str, Any]:
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


class AnthropicReader:
    def __init__(self, who: str, key: str | None = None) -> None:
        self._who = who
        self._key = key
        self._finish: str | None = None
        self._usage = WireUsage()
        self._tool: Block | None = None
        self._arguments: list[str] = []
        self._calls: list[ToolCall] = []
        self._snapshots = Snapshots()

    def read(self, frame: bytes) -> list[Chunk]:
        data = decode(_frames, frame) if frame else Frame()
        match data.type:
            case "content_block_delta" if data.delta is not None:
                return self._read_delta(data.delta)
            case "content_block_start" if data.content_block is not None:
                return self._open(data.content_block)
            case "content_block_stop":
                return self._close()
            case "message_start" if data.message is not None:
                return self._count(data.message.usage)
            case "message_delta":
                self._finish = (data.delta and data.delta.stop_reason) or self._finish
                return self._count(data.usage)
            case "message_stop":
                return self.end()
            case _ if data.error is not None:
                return [Failed(errors.from_error(self._who, data.error, key=self._key))]
        return []

    def end(self) -> list[Chunk]:
        if self._finish not in FINISH:
            return [Failed(errors.ended_early(self._who, self._finish, self._key))]
        finish = FINISH[self._finish]
        if self._tool is not None or (self._calls and finish == "length"):
            return [Failed(errors.cut_call(self._tool.name if self._tool else self._calls[-1].name))]
        if finish == "content_filter":
            return [Done(finish)]
        return [*self._calls, Done("tool_calls" if self._calls else finish)]

    @property
    def finished(self) -> bool:
        return self._finish is not None

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

    def _open(self, block: Block) -> list[Chunk]:
        if block.type == "tool_use":
            self._tool = block
            self._arguments = []
        if block.text:
            return [Text(block.text)]
        return [Thought(block.thinking)] if block.thinking else []

    def _close(self) -> list[Chunk]:
        if self._tool is not None:
            arguments = "".join(self._arguments) or "{}"
            if not is_json(arguments):
                return [Failed(errors.cut_call(self._tool.name))]
            self._calls.append(ToolCall(self._tool.id, self._tool.name, arguments))
            self._tool = None
        return []

    def _count(self, usage: WireUsage | None) -> list[Chunk]:
        """Counts arrive in two halves, and the later one may leave out what the first one said."""
        if usage is None:
            return []
        for field in WireUsage.__struct_fields__:
            if (count := getattr(usage, field)) is not None:
                setattr(self._usage, field, count)
        known = self._usage
        read, written = tokens(known.cache_read_input_tokens), tokens(known.cache_creation_input_tokens)
        return [
            Usage(
                input=tokens(known.input_tokens) + read + written,
                output=tokens(known.output_tokens),
                cached=read,
                cache_written=written,
            )
        ]
