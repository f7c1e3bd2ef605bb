"""The toolset of a participant: validates, approves and executes tool calls.

Every call ends with a `ToolReturned` event and a result for the model. A failed call is an error result; it never raises.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import msgspec
from msgspec import Struct

from moot.streaming.cancellation import StopSignal, wait_at_most
from moot.streaming.turn_stream import Emit
from moot.tools.toolbox import Toolbox, find_argument_problem
from moot.types.chunks import ToolCall
from moot.types.errors import MootError
from moot.types.events import ApprovalRequested, ApprovalResolved, ToolCalled, ToolReturned, TurnKey
from moot.types.primitives import new_id
from moot.types.requests import Tool, ToolResult
from moot.types.tools import (
    MAX_ARGUMENTS_CHARACTERS,
    MAX_RESULT_CHARACTERS,
    MAX_SHOWN_CHARACTERS,
    ApprovalDecision,
    ApprovalOutcome,
    ToolInfo,
    ToolOutcome,
    ToolUse,
    truncate_with_note,
)

TOOL_SECONDS = 300.0
APPROVAL_SECONDS = 600.0
MAX_PARALLEL_CALLS = 8  # concurrent calls of one answer
MAX_TOOL_NAME_CHARS = 64  # limit that every provider accepts
MAX_SHOWN_NAME_CHARS = 100
REFUSALS: dict[ApprovalOutcome, str] = {
    # Do not change this text: the page recognises refused calls in stored messages by it.
    "refuse": "The person refused this call. Do not try it again; go on without it.",
    "expired": "No user approved this call, so it was not made. Continue without it.",
    "stopped": "Stopped before a user approved this call.",
}
# given: allowed for all calls of the tool. wanted: ask. again: ask, even for a trusted tool, because an earlier attempt
# of the turn started such a call before a crash, and the call may already have had its effect.
ApprovalState = Literal["given", "wanted", "again"]
log = logging.getLogger(__name__)


class ToolCallRequest(Struct, frozen=True, kw_only=True):
    """A tool call requested by a model."""

    call_id: str
    tool: str  # `server/tool`
    arguments: str  # JSON
    turn_key: TurnKey


class ApprovalPolicy(Protocol):
    """Decides about tool calls with effects. An instance serves one attempt of a turn."""

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState: ...

    async def request_approval(self, request: ToolCallRequest) -> None:
        """Open the request; from now on it can be answered. Call it before clients get the event."""
        ...

    async def wait_for_decision(self, request: ToolCallRequest) -> ApprovalDecision | None:
        """Wait for the answer; None if no user can be asked. Cancelling withdraws the request."""
        ...

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """Commit that the call starts now, so that a retry after a crash asks again."""
        ...


class DenyAllApprovals:
    """Policy of runs without a user to ask: rejects every call with effects."""

    async def approval_state(self, request: ToolCallRequest) -> ApprovalState:  # noqa: ARG002 - protocol method
        return "wanted"

    async def request_approval(self, request: ToolCallRequest) -> None:
        """No-op, as there is no user."""

    async def wait_for_decision(self, request: ToolCallRequest) -> None:
        """Return None at once."""

    async def record_call_start(self, request: ToolCallRequest) -> None:
        """No-op, as no call with effects starts."""


class ToolBinding(Struct, frozen=True, kw_only=True):
    title: str  # `server/tool`
    info: ToolInfo
    toolbox: Toolbox
    trusted: bool = False  # calls need no approval


class ToolCallRecord(Struct, frozen=True):
    result: ToolResult  # sent to the model
    tool_use: ToolUse  # stored with the message


class ToolCallContext(Struct, frozen=True, kw_only=True):
    """The turn in which calls are made."""

    turn_key: TurnKey
    stop: StopSignal  # cancels a call
    approval_stop: StopSignal  # cancels the wait for an approval; a new user message does too
    emit: Emit
    text_length: int = 0  # characters of the answer before the calls


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
            Tool(name, binding.info.description, binding.info.parameters) for name, binding in self._bindings.items()
        )

    async def call_tools(self, calls: Sequence[ToolCall], context: ToolCallContext) -> list[ToolCallRecord]:
        """Execute calls concurrently; return their records in the order of the requests."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._call_tool(call, context)) for call in calls]
        return [task.result() for task in tasks]

    async def _call_tool(self, call: ToolCall, context: ToolCallContext) -> ToolCallRecord:
        binding = self._bindings.get(call.name)
        title = binding.title if binding else call.name[:MAX_SHOWN_NAME_CHARS]
        # Providers may repeat their call ids, so Moot has its own.
        request = ToolCallRequest(
            call_id=new_id("call"), tool=title, arguments=call.arguments, turn_key=context.turn_key
        )
        event_fields = _event_fields(request)
        arguments = truncate_with_note(call.arguments, MAX_ARGUMENTS_CHARACTERS)
        await context.emit([ToolCalled(name=title, arguments=arguments, **event_fields)])
        outcome, seconds = await self._call_outcome(binding, request, context)
        # Without lone surrogates and NUL characters, which databases reject.
        content = outcome.content.encode("utf-8", "replace").decode().replace("\0", "")
        tool_use = ToolUse(
            call_id=request.call_id,
            name=title,
            arguments=arguments,
            content=truncate_with_note(content, MAX_SHOWN_CHARACTERS),
            is_error=outcome.is_error,
            seconds=int(seconds * 1000) / 1000,
            text_offset=context.text_length,
        )
        result: dict[str, Any] = {name: getattr(tool_use, name) for name in ("name", "content", "is_error", "seconds")}
        await context.emit([ToolReturned(**result, **event_fields)])
        sent = truncate_with_note(content, MAX_RESULT_CHARACTERS)
        return ToolCallRecord(ToolResult(call.id, call.name, sent, outcome.is_error), tool_use)

    async def _call_outcome(
        self, binding: ToolBinding | None, request: ToolCallRequest, context: ToolCallContext
    ) -> tuple[ToolOutcome, float]:
        """Return the outcome, and the seconds of the call itself, without the wait for an approval."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            if binding is None:
                known = ", ".join(self._bindings) or "none"
                message = f"There is no tool {request.tool!r}. Available tools: {known}."
                return ToolOutcome(message, is_error=True), 0.0
            arguments = await asyncio.to_thread(_parse_arguments, binding, request)
            if isinstance(arguments, ToolOutcome):
                return arguments, 0.0
            if (
                binding.info.has_effects
                and (refusal := await self._check_approval(binding, request, context)) is not None
            ):
                return refusal, 0.0
            started = clock()
            return await self._execute_call(binding, request, arguments, context.stop), clock() - started
        except MootError as error:
            return ToolOutcome(str(error), is_error=True), clock() - started
        except Exception as error:
            # A bug in Moot or in a tool must not end the turn, so it becomes an error result.
            log.exception("tool call failed", extra={"tool": request.tool})
            return ToolOutcome(f"The tool failed ({type(error).__name__}).", is_error=True), clock() - started

    async def _check_approval(
        self, binding: ToolBinding, request: ToolCallRequest, context: ToolCallContext
    ) -> ToolOutcome | None:
        """Ask the user if needed; return None if the call is allowed, or the refusal."""
        state = await self._approval_policy.approval_state(request)
        if state == "given" or (state == "wanted" and binding.trusted):
            return None
        event_fields, seconds = _event_fields(request), self._approval_seconds
        await self._approval_policy.request_approval(request)
        repeated = state == "again"
        asked = ApprovalRequested(name=request.tool, timeout_seconds=seconds, repeated=repeated, **event_fields)
        await context.emit([asked])
        answer: ApprovalOutcome | None = await wait_at_most(
            self._approval_policy.wait_for_decision(request), seconds, context.approval_stop
        )
        if answer is None:
            answer = "stopped" if context.approval_stop.reason else "expired"
        await context.emit([ApprovalResolved(outcome=answer, **event_fields)])
        return ToolOutcome(REFUSALS[answer], is_error=True) if answer in REFUSALS else None

    async def _execute_call(
        self, binding: ToolBinding, request: ToolCallRequest, arguments: dict[str, Any], stop: StopSignal
    ) -> ToolOutcome:
        async with self._call_slots:
            if stop.reason is None and binding.info.has_effects:
                await self._approval_policy.record_call_start(request)
            outcome = None
            if stop.reason is None:
                work = binding.toolbox.call_tool(binding.info.name, arguments)
                outcome = await wait_at_most(work, self._tool_seconds, stop)
        if outcome is not None:
            return outcome
        if stop.reason is not None:
            return ToolOutcome("Stopped before it had returned.", is_error=True)
        message = f"{binding.title} did not return within {self._tool_seconds:g} s. Moot stopped waiting for it."
        message += " It may still have an effect." if binding.info.has_effects else ""
        return ToolOutcome(message, is_error=True)


def assign_tool_names(bindings: Sequence[ToolBinding]) -> dict[str, ToolBinding]:
    """Return bindings by a unique name that every provider accepts."""
    names: dict[str, ToolBinding] = {}
    for binding in bindings:
        plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", binding.title.replace("/", "__"))[:MAX_TOOL_NAME_CHARS]
        name, number = plain, 2
        while name in names:
            name = f"{plain[: MAX_TOOL_NAME_CHARS - 4]}_{number}"
            number += 1
        names[name] = binding
    return names


def _event_fields(request: ToolCallRequest) -> dict[str, Any]:
    return {**msgspec.structs.asdict(request.turn_key), "call_id": request.call_id}


def _parse_arguments(binding: ToolBinding, request: ToolCallRequest) -> dict[str, Any] | ToolOutcome:
    """Parse and validate the arguments; return an error outcome for the model if they are invalid."""
    if len(request.arguments) > MAX_ARGUMENTS_CHARACTERS:
        return ToolOutcome(f"The arguments are longer than {MAX_ARGUMENTS_CHARACTERS:,} characters.", is_error=True)
    try:
        arguments: dict[str, Any] = msgspec.json.decode(request.arguments or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        return ToolOutcome(f"The arguments are not a JSON object: {error}", is_error=True)
    if (wrong := find_argument_problem(bytes(binding.info.parameters), arguments)) is not None:
        return ToolOutcome(f"The arguments do not fit: {wrong}", is_error=True)
    return arguments
