"""Server side of the OpenAI chat completions format."""

from typing import Any

from moot.providers.scripted.scripts import ScriptedTool
from moot.testing.wire_formats.dialect import TokenCounts, plain_text, split_in_half
from moot.types.chunks import FinishReason
from moot.types.requests import ModelRequest, user_message


class OpenAIDialect:
    def parse_request(self, body: Any, model: str) -> ModelRequest:
        messages = [(m["role"], plain_text(m.get("content"))) for m in body["messages"]]
        return ModelRequest(
            model=model or body["model"],
            system="\n".join(text for role, text in messages if role == "system"),
            messages=tuple(user_message(text) for role, text in messages if role == "user"),
        )

    def opening_frames(self, counts: TokenCounts | None) -> list[Any]:  # noqa: ARG002 - usage comes last
        return [_choice_frame({"role": "assistant", "content": ""})]

    def thought_frames(self, text: str) -> list[Any]:
        return [_choice_frame({"reasoning_content": text})]

    def text_frames(self, piece: str) -> list[Any]:
        return [_choice_frame({"content": piece})]

    def tool_frames(self, tool: ScriptedTool, *, without_index: bool) -> list[Any]:
        first, second = split_in_half(tool.arguments)
        index = {} if without_index else {"index": 0}
        call = {"id": "call_1", "function": {"name": tool.name, "arguments": first}}
        more = {"id": "call_1", "function": {"arguments": second}}
        return [_choice_frame({"tool_calls": [index | call]}), _choice_frame({"tool_calls": [index | more]})]

    def partial_tool_frames(self, tool: ScriptedTool) -> list[Any]:
        return [
            self.tool_frames(tool, without_index=False)[0],
            *self.finish_frames("length", None),
            *self.closing_frames(),
        ]

    def duplicate_end_frames(self, answer: str) -> list[Any]:
        return [
            {"choices": [{"delta": {}, "message": {"content": answer}, "finish_reason": None}]},
            *self.text_frames(answer),
        ]

    def empty_frames(self) -> list[Any]:
        return [{"choices": [], "prompt_filter_results": []}]

    def finish_frames(self, finish: FinishReason, counts: TokenCounts | None) -> list[Any]:
        frames = [_choice_frame({}, finish)]
        if counts is not None:
            usage = {"prompt_tokens": counts.input, "completion_tokens": counts.output}
            frames.append({"choices": [], "usage": usage})
        return frames

    def closing_frames(self) -> list[Any]:
        return ["[DONE]"]

    def error_frame(self, status: int, message: str) -> Any:
        return {"error": {"message": message, "type": "server_error", "code": status}, "choices": []}


def _choice_frame(delta: Any, finish: FinishReason | None = None) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
