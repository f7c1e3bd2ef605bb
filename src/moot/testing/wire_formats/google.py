"""Server side of the Google generateContent format."""

import json
from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import TokenCounts, plain_text
from moot.types.chunks import FinishReason
from moot.types.requests import ModelRequest, user_message

FINISH_REASONS: dict[FinishReason, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
}
ERROR_STATUSES = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 529: "UNAVAILABLE"}


class GoogleDialect:
    def parse_request(self, body: Any, model: str) -> ModelRequest:
        return ModelRequest(
            model=model,
            system=plain_text(body.get("systemInstruction", {}).get("parts")),
            messages=tuple(user_message(plain_text(c.get("parts"))) for c in body["contents"] if c["role"] == "user"),
        )

    def opening_frames(self, counts: TokenCounts | None) -> list[Any]:  # noqa: ARG002 - usage comes last
        return []

    def thought_frames(self, text: str) -> list[Any]:
        return [_candidate_frame({"text": text, "thought": True})]

    def text_frames(self, piece: str) -> list[Any]:
        return [_candidate_frame({"text": piece})]

    def tool_frames(self, tool: ScriptedTool, *, without_index: bool) -> list[Any]:
        call = {"name": tool.name, "args": json.loads(tool.arguments)}
        return [_candidate_frame({"functionCall": call if without_index else {"id": "call_1", **call}})]

    def partial_tool_frames(self, tool: ScriptedTool) -> list[Any]:  # noqa: ARG002 - a call is never split
        return [{"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}]

    def duplicate_end_frames(self, answer: str) -> list[Any]:
        return self.text_frames(answer)

    def empty_frames(self) -> list[Any]:
        return [{"candidates": []}, {"candidates": [{"index": 0}]}]

    def finish_frames(self, finish: FinishReason, counts: TokenCounts | None) -> list[Any]:
        frame: dict[str, Any] = {"candidates": [{"content": {"parts": []}, "finishReason": FINISH_REASONS[finish]}]}
        if counts is not None:
            frame["usageMetadata"] = {"promptTokenCount": counts.input, "candidatesTokenCount": counts.output}
        return [frame]

    def closing_frames(self) -> list[Any]:
        return []

    def error_frame(self, status: int, message: str) -> Any:
        return {"error": {"code": status, "message": message, "status": ERROR_STATUSES.get(status, "INTERNAL")}}


def _candidate_frame(part: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}
