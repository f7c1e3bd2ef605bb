"""The scripted provider: deterministic and offline, for demos and tests.

There is no HTTP, so it yields the fault that the damaged response would cause. `moot lab serve` plays the same
scripts over a socket.
"""

import asyncio
from collections.abc import Iterator

from moot.providers import errors, profiles
from moot.providers.provider import ChunkStream
from moot.providers.scripted.scripts import ScriptedReply, Scripts
from moot.types.chunks import Chunk, Done, Failed, Text, Thought, ToolCall, Usage
from moot.types.faults import Fault, make_fault
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

PROVIDER_NAME = "scripted"

IMMEDIATE_FAULTS: dict[str, Fault] = {
    "error_frame": errors.fault_from_error(PROVIDER_NAME, "the model is overloaded", status=529),
    "error_body": errors.fault_from_error(PROVIDER_NAME, "rate limit reached", status=429),
    "html": errors.fault_from_error(PROVIDER_NAME, "the response is a web page"),
    "retry_seconds": errors.fault_from_error(PROVIDER_NAME, "slow down", status=429, retry_after=1),
    "retry_ms": errors.fault_from_error(PROVIDER_NAME, "slow down", status=429, retry_after=0.25),
    "retry_date": errors.fault_from_error(PROVIDER_NAME, "slow down", status=429, retry_after=2),
    "server_error": errors.fault_from_error(PROVIDER_NAME, "internal error", status=500),
    "overloaded": errors.fault_from_error(PROVIDER_NAME, "overloaded", status=529),
    "unauthorized": errors.fault_from_error(PROVIDER_NAME, "", status=401),
    "forbidden": errors.fault_from_error(PROVIDER_NAME, "", status=403),
    "huge_line": make_fault("bad_response", "A single event is too large.", retryable=False),
    "gzip_bomb": make_fault("bad_response", f"{PROVIDER_NAME} sent too many bytes.", retryable=False),
}
MIDSTREAM_FAULTS: dict[str, Fault] = {
    "no_finish": errors.early_end_fault(PROVIDER_NAME),
    "error_event": errors.fault_from_error(PROVIDER_NAME, "overloaded", status=529),
    "broken_json": make_fault("bad_response", "The provider sent an event that cannot be parsed."),
    "cut_tool": make_fault("bad_response", "The call of tool look_up was cut off."),
    **{
        name: make_fault("network", f"The connection to {PROVIDER_NAME} broke before the answer was complete.")
        for name in ("reset", "short_read", "bad_gzip")
    },
}


class ScriptedProvider:
    name = PROVIDER_NAME

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def check_model(self, model: str) -> None:
        self._scripts.check_script(model)

    def model_profile(self, model: str) -> Profile:
        return profiles.find_profile(self.name, model)

    def call_cost_usd(self, model: str, usage: Usage) -> float | None:
        script = self._scripts.by_name.get(model)
        return script.usd_per_million_tokens * (usage.input + usage.output) / 1_000_000 if script else 0.0

    async def stream_chunks(self, request: ModelRequest, key: str | None = None) -> ChunkStream:  # noqa: ARG002
        reply = self._scripts.next_reply(request)
        script, fault = reply.script, reply.fault
        await asyncio.sleep(script.delay_seconds)
        if fault in {"silence", "keepalive"}:
            await asyncio.Event().wait()
        if fault in IMMEDIATE_FAULTS:
            yield [Failed(IMMEDIATE_FAULTS[fault])]
            return
        for position, chunk in enumerate(_answer_chunks(reply)):
            if fault in MIDSTREAM_FAULTS and (position == script.fault_after_chunks or isinstance(chunk, ToolCall)):
                break
            if position:
                await asyncio.sleep(script.chunk_interval_seconds)
            yield [chunk]
        while fault == "endless":
            await asyncio.sleep(script.chunk_interval_seconds)
            yield [Text(reply.answer)]
        yield _final_chunks(reply)

    async def list_models(self, key: str | None = None) -> list[str]:  # noqa: ARG002 - needs no key
        return sorted(name for name, script in self._scripts.by_name.items() if not script.fault)

    async def aclose(self) -> None:
        """Close nothing: it holds no resources."""


def _answer_chunks(reply: ScriptedReply) -> Iterator[Chunk]:
    script = reply.script
    if script.thoughts:
        yield Thought(script.thoughts)
    if reply.fault != "empty":
        yield from map(Text, reply.text_pieces())
    if tool := reply.tool:
        yield ToolCall("call_1", tool.name, tool.arguments)


def _final_chunks(reply: ScriptedReply) -> list[Chunk]:
    if reply.fault in MIDSTREAM_FAULTS:
        return [Failed(MIDSTREAM_FAULTS[reply.fault])]
    usage = Usage() if reply.fault == "zero_usage" else Usage(reply.input_tokens, reply.output_tokens)
    done = Done("tool_calls" if reply.tool and reply.finish_reason == "stop" else reply.finish_reason)
    return [done] if reply.fault == "no_usage" else [usage, done]
