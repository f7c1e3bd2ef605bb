"""The chat completions format, from the server's side."""

from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import Counts, halves
from moot.types.chunks import Finish
from moot.types.requests import ModelRequest, user


class OpenAIDialect:
    def request(self, body: Any, model: str) -> ModelRequest:
        said = [(m["role"], _plain(m.get("content"))) for m in body["messages"]]
        return ModelRequest(
            model=model or body["model"],
            system="\n".join(text for role, text in said if role == "system"),
            messages=tuple(user(text) for role, text in said if role == "user"),
        )

    def opening(self, counts: Counts | None) -> list[Any]:  # noqa: ARG002 - counts come last here
        return [_choice({"role": "assistant", "content": ""})]

    def thought(self, text: str) -> list[Any]:
        return [_choice({"reasoning_content": text})]

    def text(self, piece: str) -> list[Any]:
        return [_choice({"content": piece})]

    def tool(self, tool: ScriptedTool, *, loose: bool) -> list[Any]:
        first, second = halves(tool.arguments)
        index = {} if loose else {"index": 0}
        call = {"id": "call_1", "function": {"name": tool.name, "arguments": first}}
        more = {"id": "call_1", "function": {"arguments": second}}
        return [_choice({"tool_calls": [index | call]}), _choice({"tool_calls": [index | more]})]

    def cut_tool(self, tool: ScriptedTool) -> list[Any]:
        return [self.tool(tool, loose=False)[0], *self.finish("length", None), *self.closing()]

    def repeated_end(self, answer: str) -> list[Any]:
        return [
            {"choices": [{"delta": {}, "message": {"content": answer}, "finish_reason": None}]},
            *self.text(answer),
        ]

    def empty(self) -> list[Any]:
        return [{"choices": [], "prompt_filter_results": []}]

    def finish(self, finish: Finish, counts: Counts | None) -> list[Any]:
        frames = [_choice({}, finish)]
        if counts is not None:
            usage = {"prompt_tokens": counts.input, "completion_tokens": counts.output}
            frames.append({"choices": [], "usage": usage})
        return frames

    def closing(self) -> list[Any]:
        return ["[DONE]"]

    def error(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error", "code": status}, "choices": []}


def _choice(delta: Any, finish: Finish | None = None) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def _plain(content: Any) -> str:
    if isinstance(content, list):
        return "\n\n".join(part.get("text", "") for part in content)
    return content or ""
