"""The chat completions format of OpenAI and the many servers that speak it.

Request:  POST /chat/completions {model, messages, stream, …}
Answer:   data: {"choices": [{"delta": {"content": …}, "finish_reason": …}], "usage": …}   …   data: [DONE]
"""

from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct

from moot.providers import errors
from moot.providers.dedupe import Snapshots
from moot.providers.errors import WireError
from moot.providers.wire_json import decode, is_json, read_listing, tokens
from moot.types.chunks import Chunk, Done, Failed, Finish, Progress, Text, Thought, ToolCall, Usage
from moot.types.model_info import Profile, file_kind
from moot.types.requests import File, Message, ModelRequest, ToolResult

FINISH: dict[str, Finish] = {
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
    """Some servers stream content as parts, with thinking among them."""

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
    usage: Raw = Raw(b"null")  # read apart: a count of an odd shape must not cost the text beside it
    error: WireError | str | None = None


_frames = msgspec.json.Decoder(Frame)
_usages = msgspec.json.Decoder(WireUsage | None)


class OpenAIWire:
    api = "openai"

    def url(self, model: str) -> str:  # noqa: ARG002 - the model is named in the body
        return "/chat/completions"

    def headers(self, key: str | None) -> Mapping[str, str]:
        content = {"Content-Type": "application/json"}
        return {**content, "Authorization": f"Bearer {key}"} if key else content

    def body(self, request: ModelRequest, profile: Profile) -> bytes:
        return msgspec.json.encode(self.fields(request, profile))

    def fields(self, request: ModelRequest, profile: Profile) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": request.model,
            "messages": list(_messages(request)),
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
            fields["tools"] = [
                {"type": "function", "function": msgspec.structs.asdict(t)} for t in request.tools
            ]
        if request.json_schema is not None and profile.json_schema:
            schema = {"name": "answer", "schema": request.json_schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": schema}
        return fields

    def reader(self, who: str, key: str | None) -> "OpenAIReader":
        return OpenAIReader(who, key)

    def models_url(self) -> str:
        return "/models"

    def read_models(self, body: bytes) -> list[str]:
        return read_listing(body)


def _messages(request: ModelRequest) -> Iterator[dict[str, Any]]:
    if request.system:
        yield {"role": "system", "content": request.system}
    for message in request.messages:
        for result in message.parts:
            if isinstance(result, ToolResult):
                yield {"role": "tool", "tool_call_id": result.call_id, "content": result.content}
        if spoken := _spoken(message):
            yield spoken


def _spoken(message: Message) -> dict[str, Any] | None:
    parts = [_part(part) for part in message.parts if isinstance(part, Text | File)]
    calls = [
        {"id": part.id, "type": "function", "function": {"name": part.name, "arguments": part.arguments}}
        for part in message.parts
        if isinstance(part, ToolCall)
    ]
    if not parts and not calls:
        return None
    plain = all(part["type"] == "text" for part in parts)
    content = "\n\n".join(part["text"] for part in parts) if plain else parts
    spoken: dict[str, Any] = {"role": message.role, "content": content}
    return {**spoken, "tool_calls": calls} if calls else spoken


def _part(part: Text | File) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = f"data:{part.media_type};base64,{b64encode(part.data).decode()}"
    if file_kind(part.media_type) == "image":
        return {"type": "image_url", "image_url": {"url": url}}
    return {"type": "file", "file": {"filename": part.name, "file_data": url}}


class PendingCall(Struct):
    id: str
    name: str = ""
    arguments: list[str] = []

    def whole(self) -> ToolCall | None:
        arguments = "".join(self.arguments) or "{}"
        return ToolCall(self.id, self.name, arguments) if is_json(arguments) else None


class OpenAIReader:
    def __init__(self, who: str, key: str | None = None) -> None:
        self._who = who
        self._key = key
        self._finish: str | None = None
        self._calls: dict[str | int, PendingCall] = {}
        self._last_call: str | int = 0
        self._snapshots = Snapshots()

    def read(self, frame: bytes) -> list[Chunk]:
        if frame == b"[DONE]":
            return self.end()
        if not frame:
            return []
        data = decode(_frames, frame)
        if data.error is not None:
            return [Failed(errors.from_error(self._who, data.error, key=self._key))]
        chunks: list[Chunk] = []
        if data.choices:
            choice = data.choices[0]
            if choice.delta is not None:
                self._read_delta(choice.delta, chunks)
            self._finish = choice.finish_reason or self._finish
        if (usage := _usage(data.usage)) is not None:
            chunks.append(usage)
        return chunks

    def end(self) -> list[Chunk]:
        if self._finish not in FINISH:
            return [Failed(errors.ended_early(self._who, self._finish, self._key))]
        finish = FINISH[self._finish]
        calls = [call.whole() for call in self._calls.values()]
        whole = [call for call in calls if call is not None]
        if calls and (finish == "length" or len(whole) < len(calls)):
            return [Failed(errors.cut_call(next(iter(self._calls.values())).name))]
        if finish == "content_filter":
            return [Done(finish)]
        return [*whole, Done("tool_calls" if whole else finish)]

    @property
    def finished(self) -> bool:
        return self._finish is not None

    def _read_delta(self, delta: Delta, chunks: list[Chunk]) -> None:
        if thought := delta.reasoning_content or delta.reasoning:
            chunks.append(Thought(thought))
        content = delta.content or delta.refusal
        if isinstance(content, list):
            chunks += _parts(content)
        elif content and (text := self._snapshots.new_text(content)):
            chunks.append(Text(text))
        for call in delta.tool_calls or ():
            chunks.append(Progress(self._join(call)))

    def _join(self, delta: ToolDelta) -> int:
        """Add to the call that the index names, else the id, else the one being written; return its growth."""
        place = delta.index if delta.index is not None else delta.id or self._last_call
        if delta.id and place in self._calls and self._calls[place].id != delta.id:
            place = delta.id  # a new id is a new call, whatever its index says
        call = self._calls.setdefault(place, PendingCall(delta.id or f"call_{place}"))
        self._last_call = place
        if delta.function is None:
            return 0
        call.name = call.name or delta.function.name or ""
        call.arguments.append(delta.function.arguments or "")
        return len(call.arguments[-1])


def _parts(content: list[ContentPart]) -> Iterator[Chunk]:
    for part in content:
        if part.thinking:
            yield Thought("".join(piece.text or "" for piece in part.thinking))
        elif part.text:
            yield Text(part.text)


def _usage(counted: Raw) -> Usage | None:
    try:
        usage = _usages.decode(counted)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    if usage is None:
        return None
    sent, answered = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input=tokens(usage.prompt_tokens),
        output=tokens(usage.completion_tokens),
        reasoning=tokens(answered.reasoning_tokens if answered else 0),
        cached=tokens(sent.cached_tokens if sent else 0),
    )
