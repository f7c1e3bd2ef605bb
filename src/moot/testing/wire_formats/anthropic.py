"""The messages format, from the server's side."""

from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import Counts, halves
from moot.types.chunks import Finish
from moot.types.requests import ModelRequest, user

STOP: dict[Finish, str] = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "refusal",
}


class AnthropicDialect:
    def __init__(self) -> None:
        self._block: str | None = None

    def request(self, body: Any, model: str) -> ModelRequest:
        return ModelRequest(
            model=model or body["model"],
            system=_plain(body.get("system", "")),
            messages=tuple(user(_plain(m["content"])) for m in body["messages"] if m["role"] == "user"),
        )

    def opening(self, counts: Counts | None) -> list[Any]:
        usage = {} if counts is None else {"usage": {"input_tokens": counts.input, "output_tokens": 1}}
        return [
            {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", **usage}},
            {"type": "ping"},
        ]

    def thought(self, text: str) -> list[Any]:
        return [*self._in_block("thinking"), _delta({"type": "thinking_delta", "thinking": text})]

    def text(self, piece: str) -> list[Any]:
        return [*self._in_block("text"), _delta({"type": "text_delta", "text": piece})]

    def tool(self, tool: ScriptedTool, *, loose: bool) -> list[Any]:  # noqa: ARG002 - blocks have no index to lose
        first, second = halves(tool.arguments)
        opened = self._in_block("tool_use", id="call_1", name=tool.name, input={})
        pieces = [_delta({"type": "input_json_delta", "partial_json": half}) for half in (first, second)]
        return [*opened, *pieces]

    def cut_tool(self, tool: ScriptedTool) -> list[Any]:
        return [*self.tool(tool, loose=False)[:-1], *self.finish("length", None), *self.closing()]

    def repeated_end(self, answer: str) -> list[Any]:  # noqa: ARG002 - a closed block repeats nothing
        return [{"type": "content_block_stop", "index": 0}]

    def empty(self) -> list[Any]:
        return [{"type": "ping"}, {"type": "vendor_event", "note": "unknown kinds are allowed"}]

    def finish(self, finish: Finish, counts: Counts | None) -> list[Any]:
        usage = {} if counts is None else {"usage": {"output_tokens": counts.output}}
        return [
            *self._in_block(None),
            {"type": "message_delta", "delta": {"stop_reason": STOP[finish]}, **usage},
        ]

    def closing(self) -> list[Any]:
        return [{"type": "message_stop"}]

    def error(self, status: int, message: str) -> Any:
        kind = {
            401: "authentication_error",
            403: "permission_error",
            429: "rate_limit_error",
            529: "overloaded_error",
        }
        return {"type": "error", "error": {"type": kind.get(status, "api_error"), "message": message}}

    def _in_block(self, kind: str | None, **fields: Any) -> list[Any]:
        """Close the block that is open and open the one that is needed."""
        if kind == self._block:
            return []
        frames = [] if self._block is None else [{"type": "content_block_stop", "index": 0}]
        self._block = kind
        if kind is not None:
            block = {"type": kind, **({"text": ""} if kind == "text" else {}), **fields}
            frames.append({"type": "content_block_start", "index": 0, "content_block": block})
        return frames


def _delta(delta: Any) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "\n\n".join(part.get("text", "") for part in content)
    return str(content)
