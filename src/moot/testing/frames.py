"""Stream frames of a scripted reply, and their encoding as server-sent events, with faults."""

import json
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any

from moot.providers.scripted.scripts import ScriptedReply
from moot.testing.wire_formats.dialect import Dialect, TokenCounts, encode_frame

SSE_COMMENTS = b": keep-alive\n\n:\n\ndata:\n\nevent: ping\n\nretry: 10\n\n"


def answer_frames(dialect: Dialect, reply: ScriptedReply) -> Iterator[Any]:
    """Yield the JSON values of the events of a response, with the faults at frame level."""
    fault, script = reply.fault, reply.script
    counts = _token_counts(reply)
    if fault == "error_frame":
        yield dialect.error_frame(529, "The model is overloaded")
        return
    content = _content_frames(dialect, reply, counts)
    if fault in {"error_event", "broken_json"}:
        yield from (frame for frame, _ in zip(content, range(script.fault_after_chunks + 2), strict=False))
        yield "{broken" if fault == "broken_json" else dialect.error_frame(529, "The model is overloaded")
        return
    yield from content
    if fault in {"no_finish", "cut_tool", "endless"}:
        return
    calls = reply.tool is not None and fault != "stop_with_tools"
    yield from dialect.finish_frames("tool_calls" if calls else reply.finish_reason, counts)
    if fault == "empty_choices":
        yield from dialect.empty_frames()
    if fault != "no_done":
        yield from dialect.closing_frames()


def _content_frames(dialect: Dialect, reply: ScriptedReply, counts: TokenCounts | None) -> Iterator[Any]:
    fault, script = reply.fault, reply.script
    if fault == "empty_choices":
        yield from dialect.empty_frames()
    yield from dialect.opening_frames(counts)
    if script.thoughts:
        yield from dialect.thought_frames(script.thoughts)
    pieces: Iterable[str] = reply.text_pieces()
    for piece in accumulate(pieces) if fault == "snapshots" else pieces:
        yield from dialect.text_frames(piece)
    if fault == "repeated_end":
        yield from dialect.duplicate_end_frames(reply.answer)
    if reply.tool and fault == "cut_tool":
        yield from dialect.partial_tool_frames(reply.tool)
    elif reply.tool:
        yield from dialect.tool_frames(reply.tool, without_index=fault == "loose_tool")


def _token_counts(reply: ScriptedReply) -> TokenCounts | None:
    match reply.fault:
        case "no_usage":
            return None
        case "zero_usage":
            return TokenCounts(0, 0)
    return TokenCounts(reply.input_tokens, reply.output_tokens)


def encode_event(frame: Any, fault: str) -> bytes:
    """Encode a frame as one server-sent event, in an unusual but valid form if `fault` asks for it."""
    data = encode_frame(frame)
    name = f"event: {frame['type']}\n".encode() if isinstance(frame, dict) and "type" in frame else b""
    if fault == "multiline" and isinstance(frame, dict):
        lines = json.dumps(frame, indent=1).encode().split(b"\n")
        return name + b"".join(b"data: " + line + b"\n" for line in lines) + b"\n"
    event = name + b"data: " + data + b"\n\n"
    match fault:
        case "comments":
            return SSE_COMMENTS + event
        case "cr":
            return event.replace(b"\n", b"\r")
        case "crlf":
            return event.replace(b"\n", b"\r\n")
    return event
