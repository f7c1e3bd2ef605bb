"""The generateContent format, from the server's side."""

import json
from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import Counts
from moot.types.chunks import Finish
from moot.types.requests import ModelRequest, user

FINISH: dict[Finish, str] = {
    "stop": "STOP",
    "length": "MAX_TOKENS",
    "tool_calls": "STOP",
    "content_filter": "SAFETY",
}
STATUS = {401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 429: "RESOURCE_EXHAUSTED", 529: "UNAVAILABLE"}


class GoogleDialect:
    def request(self, body: Any, model: str) -> ModelRequest:
        return ModelRequest(
            model=model,
            system=_plain(body.get("systemInstruction", {})),
            messages=tuple(user(_plain(c)) for c in body["contents"] if c["role"] == "user"),
        )

    def opening(self, counts: Counts | None) -> list[Any]:  # noqa: ARG002 - counts come last here
        return []

    def thought(self, text: str) -> list[Any]:
        return [_candidate({"text": text, "thought": True})]

    def text(self, piece: str) -> list[Any]:
        return [_candidate({"text": piece})]

    def tool(self, tool: ScriptedTool, *, loose: bool) -> list[Any]:
        call = {"name": tool.name, "args": json.loads(tool.arguments)}
        return [_candidate({"functionCall": call if loose else {"id": "call_1", **call}})]

    def cut_tool(self, tool: ScriptedTool) -> list[Any]:  # noqa: ARG002 - calls come whole or not at all
        return [{"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL"}]}]

    def repeated_end(self, answer: str) -> list[Any]:
        return self.text(answer)

    def empty(self) -> list[Any]:
        return [{"candidates": []}, {"candidates": [{"index": 0}]}]

    def finish(self, finish: Finish, counts: Counts | None) -> list[Any]:
        frame: dict[str, Any] = {"candidates": [{"content": {"parts": []}, "finishReason": FINISH[finish]}]}
        if counts is not None:
            frame["usageMetadata"] = {
                "promptTokenCount": counts.input,
                "candidatesTokenCount": counts.output,
            }
        return [frame]

    def closing(self) -> list[Any]:
        return []

    def error(self, status: int, message: str) -> Any:
        return {"error": {"code": status, "message": message, "status": STATUS.get(status, "INTERNAL")}}


def _candidate(part: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"role": "model", "parts": [part]}}]}


def _plain(content: Any) -> str:
    return "\n\n".join(part.get("text", "") for part in content.get("parts", ()))
