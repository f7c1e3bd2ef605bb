"""What one participant may call: each call is checked, allowed, made in bounded time, and told, whatever comes of it."""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from moot.engine.tools.approval_policy import ApprovalPolicy, DenyAllApprovals, ToolCallRequest
from moot.engine.waits import wait_at_most
from moot.streaming.cancellation import StopSignal
from moot.streaming.turn_stream import Emit
from moot.tools.toolbox import Toolbox, find_argument_problem
from moot.types.chunks import ToolCall
from moot.types.errors import MootError
from moot.types.events import ApprovalGiven, ApprovalWanted, ToolCalled, ToolReturned, TurnKey
from moot.types.primitives import new_id
from moot.types.requests import Tool, ToolResult
from moot.types.tools import (
    MAX_ARGUMENTS_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    MAX_SHOWN_CHARACTERS,
    ApprovalOutcome,
    ToolInfo,
    ToolOutcome,
    ToolUse,
    truncate_with_note,
)

TOOL_SECONDS = 300.0
APPROVAL_SECONDS = 600.0
MAX_PARALLEL_CALLS = 8  # calls of one answer that are made side by side
MAX_TOOL_NAME_CHARS = 64  # that every provider takes
MAX_SHOWN_NAME_CHARS = 100
REFUSALS: dict[ApprovalOutcome, str] = {
    "refuse": "The person refused this call. Do not try it again; go on without it.",
    "expired": "Nobody was there to allow this call, so it was not made. Go on without it.",
    "stopped": "Stopped before anybody had allowed this call.",
}
log = logging.getLogger(__name__)


class ToolBinding(Struct, frozen=True, kw_only=True):
    """A tool that may be called: `title` is `server/tool`. Nobody is asked about one that is `trusted`."""

    title: str
    info: ToolInfo
    toolbox: Toolbox
    trusted: bool = False


class ToolCallRecord(Struct, frozen=True):
    """A call that was made: what the model is told of it, and what is kept."""

    result: ToolResult
    tool_use: ToolUse


class ToolCallContext(Struct, frozen=True, kw_only=True):
    """Where calls are made: in whose turn, when `said` characters of it were said, and who is told.

    `stop` ends a call. `hurry` ends waiting for somebody to allow one: whoever speaks in the meantime has not.
    """

    turn_key: TurnKey
    stop: StopSignal
    approval_stop: StopSignal
    emit: Emit
    text_length: int = 0


class Toolset:
    def __init__(
        self,
        bindings: Sequence[ToolBinding] = (),
        approval_policy: ApprovalPolicy | None = None,
        tool_seconds: float = TOOL_SECONDS,
        approval_seconds: float = APPROVAL_SECONDS,
    ) -> None:
        self._bindings = assign_tool_names(bindings)
        self._approval_policy = approval_policy or DenyAllApprovals()
        self._tool_seconds = tool_seconds
        self._approval_seconds = approval_seconds
        self._call_slots = asyncio.Semaphore(MAX_PARALLEL_CALLS)

    @property
    def tool_definitions(self) -> tuple[Tool, ...]:
        return tuple(
            Tool(name, offer.info.description, offer.info.parameters)
            for name, offer in self._bindings.items()
        )

    async def call_tools(self, calls: Sequence[ToolCall], context: ToolCallContext) -> list[ToolCallRecord]:
        """Make some calls side by side; they are returned in the order in which they were wanted."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._call_tool(call, context)) for call in calls]
        return [task.result() for task in tasks]

    async def _call_tool(self, call: ToolCall, context: ToolCallContext) -> ToolCallRecord:
        offer = self._bindings.get(call.name)
        title = offer.title if offer else call.name[:MAX_SHOWN_NAME_CHARS]
        wanted = ToolCallRequest(
            call_id=new_id("call"), tool=title, arguments=call.arguments, turn_key=context.turn_key
        )
        where = _event_fields(wanted)
        shown = truncate_with_note(call.arguments, MAX_ARGUMENTS_CHARACTERS)
        await context.emit([ToolCalled(name=title, arguments=shown, **where)])
        outcome, seconds = await self._call_outcome(offer, wanted, context)
        content = _remove_nul(outcome.content)
        kept = ToolUse(
            call_id=wanted.call_id,
            name=title,
            arguments=shown,
            content=truncate_with_note(content, MAX_SHOWN_CHARACTERS),
            is_error=outcome.is_error,
            seconds=int(seconds * 1000) / 1000,
            said=context.text_length,
        )
        result: dict[str, Any] = {
            name: getattr(kept, name) for name in ("name", "content", "is_error", "seconds")
        }
        await context.emit([ToolReturned(**result, **where)])
        return ToolCallRecord(
            ToolResult(
                call.id, call.name, truncate_with_note(content, MAX_RESULT_CHARACTERS), outcome.is_error
            ),
            kept,
        )

    async def _call_outcome(
        self, binding: ToolBinding | None, request: ToolCallRequest, context: ToolCallContext
    ) -> tuple[ToolOutcome, float]:
        """Return what came of a call, and how many seconds the tool itself took."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            if binding is None:
                return self._unknown_tool(request.tool), 0.0
            arguments = await asyncio.to_thread(_parse_arguments, binding, request)
            if isinstance(arguments, ToolOutcome):
                return arguments, 0.0
            if (
                binding.info.effects
                and (refusal := await self._check_approval(binding, request, context)) is not None
            ):
                return refusal, 0.0
            started = clock()
            return await self._execute_call(binding, request, arguments, context.stop), clock() - started
        except MootError as error:
            return ToolOutcome(str(error), is_error=True), clock() - started
        except Exception as error:
            # A mistake of ours, or of a tool, must not end the turn: here it becomes what came of the call.
            log.exception("a tool failed")
            return ToolOutcome(f"The tool failed ({type(error).__name__}).", is_error=True), clock() - started

    def _unknown_tool(self, name: str) -> ToolOutcome:
        there = ", ".join(self._bindings) or "none"
        return ToolOutcome(f"There is no tool {name!r}. These tools are there: {there}.", is_error=True)

    async def _check_approval(
        self, binding: ToolBinding, request: ToolCallRequest, context: ToolCallContext
    ) -> ToolOutcome | None:
        """Say that a call with effects may not be made, and ask where that is not known; None if it may."""
        standing = await self._approval_policy.approval_state(request)
        if standing == "given" or (standing == "wanted" and binding.trusted):
            return None
        where, seconds = _event_fields(request), self._approval_seconds
        await self._approval_policy.request_approval(request)
        again = standing == "again"
        await context.emit([ApprovalWanted(name=request.tool, seconds=seconds, again=again, **where)])
        answer: ApprovalOutcome | None = await wait_at_most(
            self._approval_policy.wait_for_decision(request), seconds, context.approval_stop
        )
        if answer is None:
            answer = "stopped" if context.approval_stop.reason else "expired"
        await context.emit([ApprovalGiven(answer=answer, **where)])
        return ToolOutcome(REFUSALS[answer], is_error=True) if answer in REFUSALS else None

    async def _execute_call(
        self, binding: ToolBinding, request: ToolCallRequest, arguments: dict[str, Any], stop: StopSignal
    ) -> ToolOutcome:
        async with self._call_slots:
            if stop.reason is None and binding.info.effects:
                await self._approval_policy.record_call_start(request)
            outcome = None
            if stop.reason is None:
                work = binding.toolbox.call_tool(binding.info.name, arguments)
                outcome = await wait_at_most(work, self._tool_seconds, stop)
        if outcome is not None:
            return outcome
        if stop.reason is not None:
            return ToolOutcome("Stopped before it had returned.", is_error=True)
        maybe = " What it does may still happen." if binding.info.effects else ""
        return ToolOutcome(
            f"{binding.title} did not return within {self._tool_seconds:g} s, and was not waited for.{maybe}",
            is_error=True,
        )


def assign_tool_names(bindings: Sequence[ToolBinding]) -> dict[str, ToolBinding]:
    """Give every tool a name that every provider takes, and no two the same."""
    names: dict[str, ToolBinding] = {}
    for offer in bindings:
        plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", offer.title.replace("/", "__"))[:MAX_TOOL_NAME_CHARS]
        name, number = plain, 2
        while name in names:
            name = f"{plain[: MAX_TOOL_NAME_CHARS - 4]}_{number}"
            number += 1
        names[name] = offer
    return names


def _event_fields(request: ToolCallRequest) -> dict[str, Any]:
    """Say in which turn, and of which call, an event tells."""
    return {**msgspec.structs.asdict(request.turn_key), "call_id": request.call_id}


def _parse_arguments(binding: ToolBinding, request: ToolCallRequest) -> dict[str, Any] | ToolOutcome:
    """Read the arguments of a call, or say what is wrong with them."""
    if len(request.arguments) > MAX_ARGUMENTS_CHARACTERS:
        return ToolOutcome(
            f"The arguments are longer than {MAX_ARGUMENTS_CHARACTERS:,} characters.", is_error=True
        )
    try:
        arguments: dict[str, Any] = msgspec.json.decode(request.arguments or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        return ToolOutcome(f"The arguments are no JSON object: {error}", is_error=True)
    if (wrong := find_argument_problem(bytes(binding.info.parameters), arguments)) is not None:
        return ToolOutcome(f"The arguments do not fit: {wrong}", is_error=True)
    return arguments


def _remove_nul(content: str) -> str:
    """Drop what no database keeps."""
    return content.encode("utf-8", "replace").decode().replace("\0", "")
