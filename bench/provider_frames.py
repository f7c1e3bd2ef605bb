"""Encode response streams in three wire formats, with all fields of real providers and one word of text in each chunk."""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct

TEXT = (
    "A loop waits for many sockets at once , and wakes when one of them has something to say . "
    "In Python it is `asyncio` that waits ; nothing else runs while a task computes , so long work "
    "belongs in a thread . Compare a < b before you swap them , and measure before you believe ."
)
WORDS = TEXT.split(" ")
OPENAI = {
    "id": "chatcmpl-CkR2m8Jx0bT5vQwYz7LdPq1sNfHu3",
    "object": "chat.completion.chunk",
    "created": 1767225600,
    "model": "gpt-5-mini-2025-08-07",
    "service_tier": "default",
    "system_fingerprint": "fp_3f58d112f7",
}
GOOGLE = {"modelVersion": "gemini-2.5-flash", "responseId": "pQ5VaYzLDrGm1dkP0vK2wAQ"}


class FrameFormat(Struct, frozen=True):
    """The bytes of a response stream: the opening, a function that encodes a chunk of text and its index, and the end."""

    opening: bytes
    encode_chunk: Callable[[str, int], bytes]
    closing: bytes


def get_word(number: int) -> str:
    return WORDS[number % len(WORDS)] + " "


def build_answer(chunks: int) -> str:
    """Return the whole text of a stream with this number of chunks."""
    return "".join(map(get_word, range(chunks)))


def encode_http_chunk(event: bytes) -> bytes:
    """Encode an event as one chunk of an HTTP response body."""
    return b"%x\r\n%b\r\n" % (len(event), event)


def _encode_event(value: object, end: bytes = b"\n\n") -> bytes:
    return b"data: " + msgspec.json.encode(value) + end


def _encode_openai(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return encode_http_chunk(_encode_event({**OPENAI, "choices": [choice], "usage": None}))


def _encode_openai_chunk(text: str, _: int) -> bytes:
    return _encode_openai({"content": text})


def _encode_openai_end() -> bytes:
    usage = {"prompt_tokens": 12, "completion_tokens": 800, "total_tokens": 812}
    usage_event = encode_http_chunk(_encode_event({**OPENAI, "choices": [], "usage": usage}))
    return _encode_openai({}, "stop") + usage_event + encode_http_chunk(b"data: [DONE]\n\n")


def _encode_anthropic(kind: str, **fields: Any) -> bytes:
    return encode_http_chunk(b"event: " + kind.encode() + b"\n" + _encode_event({"type": kind, **fields}))


def _encode_anthropic_start() -> bytes:
    message = {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [],
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    block = {"type": "text", "text": ""}
    return _encode_anthropic("message_start", message=message) + _encode_anthropic(
        "content_block_start", index=0, content_block=block
    )


def _encode_anthropic_chunk(text: str, _: int) -> bytes:
    return _encode_anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def _encode_anthropic_end() -> bytes:
    usage_event = _encode_anthropic(
        "message_delta",
        delta={"stop_reason": "end_turn", "stop_sequence": None},
        usage={"output_tokens": 800},
    )
    return _encode_anthropic("content_block_stop", index=0) + usage_event + _encode_anthropic("message_stop")


def _encode_google(text: str, tokens: int, **fields: Any) -> bytes:
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, **fields, "index": 0}
    usage = {"promptTokenCount": 12, "candidatesTokenCount": tokens, "totalTokenCount": 12 + tokens}
    return encode_http_chunk(_encode_event({"candidates": [candidate], "usageMetadata": usage, **GOOGLE}, b"\r\n\r\n"))


def _encode_google_chunk(text: str, index: int) -> bytes:
    return _encode_google(text, 3 * (index + 1))


FORMATS: dict[bytes, FrameFormat] = {
    b"/chat/completions": FrameFormat(
        _encode_openai({"role": "assistant", "content": "", "refusal": None}),
        _encode_openai_chunk,
        _encode_openai_end(),
    ),
    b"/messages": FrameFormat(_encode_anthropic_start(), _encode_anthropic_chunk, _encode_anthropic_end()),
    b":streamGenerateContent": FrameFormat(b"", _encode_google_chunk, _encode_google("", 800, finishReason="STOP")),
}
