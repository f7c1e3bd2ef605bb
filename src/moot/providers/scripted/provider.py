"""A provider that performs scripts: deterministic, offline, and never a stand-in for a real model.

In process there are no bytes to damage, so a fault is played by what it comes to; `moot lab serve` plays the
same scripts over a socket, bytes and all.
"""

import asyncio
from collections.abc import Iterator

from moot.providers import errors, profiles
from moot.providers.provider import ChunkStream
from moot.providers.scripted.scripts import Performance, Scripts
from moot.types.chunks import Chunk, Done, Failed, Text, Thought, ToolCall, Usage
from moot.types.faults import Fault, fault
from moot.types.model_info import Profile
from moot.types.requests import ModelRequest

WHO = "scripted"

AT_ONCE: dict[str, Fault] = {
    "error_frame": errors.from_error(WHO, "the model is overloaded", status=529),
    "error_body": errors.from_error(WHO, "rate limit reached", status=429),
    "html": errors.from_error(WHO, "it answered with a web page"),
    "retry_seconds": errors.from_error(WHO, "slow down", status=429, retry_after=1),
    "retry_ms": errors.from_error(WHO, "slow down", status=429, retry_after=0.25),
    "retry_date": errors.from_error(WHO, "slow down", status=429, retry_after=2),
    "server_error": errors.from_error(WHO, "internal error", status=500),
    "overloaded": errors.from_error(WHO, "overloaded", status=529),
    "unauthorized": errors.from_error(WHO, "", status=401),
    "forbidden": errors.from_error(WHO, "", status=403),
    "huge_line": fault("bad_response", "A single event grew too large.", retryable=False),
    "gzip_bomb": fault("bad_response", f"{WHO} sent too many bytes.", retryable=False),
}
MIDWAY: dict[str, Fault] = {
    "no_finish": errors.ended_early(WHO),
    "error_event": errors.from_error(WHO, "overloaded", status=529),
    "broken_json": fault("bad_response", "The provider sent a piece of its answer that cannot be read."),
    "cut_tool": fault("bad_response", "The call of the tool look_up was cut off."),
    **{
        name: fault("network", f"The connection to {WHO} broke before the answer was complete.")
        for name in ("reset", "short_read", "bad_gzip")
    },
}


class ScriptedProvider:
    name = WHO

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def check(self, model: str) -> None:
        self._scripts.check(model)

    def profile(self, model: str) -> Profile:
        return profiles.profile(self.name, model)

    def cost(self, model: str, usage: Usage) -> float | None:
        script = self._scripts.named.get(model)
        return script.price * (usage.input + usage.output) / 1_000_000 if script else 0.0

    async def stream(self, request: ModelRequest, key: str | None = None) -> ChunkStream:  # noqa: ARG002
        performance = self._scripts.perform(request)
        script, trouble = performance.script, performance.fault
        await asyncio.sleep(script.delay)
        if trouble in {"silence", "keepalive"}:
            await asyncio.Event().wait()
        if trouble in AT_ONCE:
            yield [Failed(AT_ONCE[trouble])]
            return
        for said, chunk in enumerate(_spoken(performance)):
            if trouble in MIDWAY and (said == script.fault_after or isinstance(chunk, ToolCall)):
                break
            if said:
                await asyncio.sleep(script.pace)
            yield [chunk]
        while trouble == "endless":
            await asyncio.sleep(script.pace)
            yield [Text(performance.answer)]
        yield _ending(performance)

    async def models(self, key: str | None = None) -> list[str]:  # noqa: ARG002 - scripts need no key
        return sorted(name for name, script in self._scripts.named.items() if not script.fault)

    async def aclose(self) -> None:
        """Nothing is held open."""


def _spoken(performance: Performance) -> Iterator[Chunk]:
    script = performance.script
    if script.thoughts:
        yield Thought(script.thoughts)
    if performance.fault != "empty":
        yield from map(Text, performance.pieces())
    if tool := performance.tool:
        yield ToolCall("call_1", tool.name, tool.arguments)


def _ending(performance: Performance) -> list[Chunk]:
    if performance.fault in MIDWAY:
        return [Failed(MIDWAY[performance.fault])]
    counted: list[Chunk] = [Usage(performance.input_tokens, performance.output_tokens)]
    match performance.fault:
        case "no_usage":
            counted = []
        case "zero_usage":
            counted = [Usage()]
    return [
        *counted,
        Done("tool_calls" if performance.tool and performance.finish == "stop" else performance.finish),
    ]
