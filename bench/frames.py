"""The three wire formats as real providers write them: full frames, one word of text in each chunk."""

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


class Format(Struct, frozen=True):
    """What comes before the text, one chunk of text (and the number of the chunk), and what ends it."""

    opening: bytes
    chunk: Callable[[str, int], bytes]
    closing: bytes


def word(number: int) -> str:
    return WORDS[number % len(WORDS)] + " "


def answer(chunks: int) -> str:
    """Return the text that a stream of so many chunks adds up to."""
    return "".join(map(word, range(chunks)))


def http_chunk(event: bytes) -> bytes:
    """Wrap an event as one chunk of an HTTP body."""
    return b"%x\r\n%b\r\n" % (len(event), event)


def _data(value: object, end: bytes = b"\n\n") -> bytes:
    return b"data: " + msgspec.json.encode(value) + end


def _openai(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return http_chunk(_data({**OPENAI, "choices": [choice], "usage": None}))


def _openai_chunk(text: str, _: int) -> bytes:
    return _openai({"content": text})


def _openai_closing() -> bytes:
    usage = {"prompt_tokens": 12, "completion_tokens": 800, "total_tokens": 812}
    counted = http_chunk(_data({**OPENAI, "choices": [], "usage": usage}))
    return _openai({}, "stop") + counted + http_chunk(b"data: [DONE]\n\n")


def _anthropic(kind: str, **fields: Any) -> bytes:
    return http_chunk(b"event: " + kind.encode() + b"\n" + _data({"type": kind, **fields}))


def _anthropic_opening() -> bytes:
    message = {
        "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5-20250929",
        "content": [],
        "usage": {"input_tokens": 12, "output_tokens": 1},
    }
    block = {"type": "text", "text": ""}
    return _anthropic("message_start", message=message) + _anthropic(
        "content_block_start", index=0, content_block=block
    )


def _anthropic_chunk(text: str, _: int) -> bytes:
    return _anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": text})


def _anthropic_closing() -> bytes:
    counted = _anthropic(
        "message_delta",
        delta={"stop_reason": "end_turn", "stop_sequence": None},
        usage={"output_tokens": 800},
    )
    return _anthropic("content_block_stop", index=0) + counted + _anthropic("message_stop")


def _google(text: str, tokens: int, **more: Any) -> bytes:
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, **more, "index": 0}
    usage = {"promptTokenCount": 12, "candidatesTokenCount": tokens, "totalTokenCount": 12 + tokens}
    return http_chunk(_data({"candidates": [candidate], "usageMetadata": usage, **GOOGLE}, b"\r\n\r\n"))


def _google_chunk(text: str, number: int) -> bytes:
    return _google(text, 3 * (number + 1))


FORMATS: dict[bytes, Format] = {
    b"/chat/completions": Format(
        _openai({"role": "assistant", "content": "", "refusal": None}), _openai_chunk, _openai_closing()
    ),
    b"/messages": Format(_anthropic_opening(), _anthropic_chunk, _anthropic_closing()),
    b":streamGenerateContent": Format(b"", _google_chunk, _google("", 800, finishReason="STOP")),
}
