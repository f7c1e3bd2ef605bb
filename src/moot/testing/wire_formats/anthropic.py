"""Server side of the Anthropic messages format."""

from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import TokenCounts, plain_text, split_in_half
from moot.types.chunks import FinishReason
from moot.types.requests import ModelRequest, user_message

STOP_REASONS: dict[FinishReason, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}


class AnthropicDialect:
    def __init__(self) -> None:
        self._open_block: str | None = None

    def parse_request(self, body: Any, model: str) -> ModelRequest:
        return ModelRequest(
            model=model or body["model"],
            system=plain_text(body.get("system", "")),
            messages=tuple(user_message(plain_text(m["content"])) for m in body["messages"] if m["role"] == "user"),
        )

    def opening_frames(self, counts: TokenCounts | None) -> list[Any]:
        usage = {} if counts is None else {"usage": {"input_tokens": counts.input, "output_tokens": 1}}
        return [{"type": "message_start", "message": {"id": "msg_1", "role": "assistant", **usage}}, {"type": "ping"}]

    def thought_frames(self, text: str) -> list[Any]:
        return [*self._switch_block("thinking"), _delta_frame({"type": "thinking_delta", "thinking": text})]

    def text_frames(self, piece: str) -> list[Any]:
        return [*self._switch_block("text"), _delta_frame({"type": "text_delta", "text": piece})]

    def tool_frames(self, tool: ScriptedTool, *, without_index: bool) -> list[Any]:  # noqa: ARG002 - blocks always have an index
        first, second = split_in_half(tool.arguments)
        opened = self._switch_block("tool_use", id="call_1", name=tool.name, input={})
        pieces = [_delta_frame({"type": "input_json_delta", "partial_json": half}) for half in (first, second)]
        return [*opened, *pieces]

    def partial_tool_frames(self, tool: ScriptedTool) -> list[Any]:
        return [
            *self.tool_frames(tool, without_index=False)[:-1],
            *self.finish_frames("length", None),
            *self.closing_frames(),
        ]

    def duplicate_end_frames(self, answer: str) -> list[Any]:  # noqa: ARG002 - a block event never repeats text
        return [{"type": "content_block_stop", "index": 0}]

    def empty_frames(self) -> list[Any]:
        return [{"type": "ping"}, {"type": "vendor_event", "note": "unknown kinds are allowed"}]

    def finish_frames(self, finish: FinishReason, counts: TokenCounts | None) -> list[Any]:
        usage = {} if counts is None else {"usage": {"output_tokens": counts.output}}
        return [
            *self._switch_block(None),
            {"type": "message_delta", "delta": {"stop_reason": STOP_REASONS[finish]}, **usage},
        ]

    def closing_frames(self) -> list[Any]:
        return [{"type": "message_stop"}]

    def error_frame(self, status: int, message: str) -> Any:
        kind = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error", 529: "overloaded_error"}
        return {"type": "error", "error": {"type": kind.get(status, "api_error"), "message": message}}

    def _switch_block(self, kind: str | None, **fields: Any) -> list[Any]:
        """Return the frames that close the open block and open a block of this type; None only closes."""
        if kind == self._open_block:
            return []
        frames = [] if self._open_block is None else [{"type": "content_block_stop", "index": 0}]
        self._open_block = kind
        if kind is not None:
            block = {"type": kind, **({"text": ""} if kind == "text" else {}), **fields}
            frames.append({"type": "content_block_start", "index": 0, "content_block": block})
        return frames


def _delta_frame(delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}
