"""What one participant may call: each call is checked, allowed, made in bounded time, and told, whatever comes of it."""

import asyncio
import logging
import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct

from moot.engine.tools.approval_policy import Consent, NoConsent, Wanted
from moot.engine.waits import bounded
from moot.streaming.cancellation import Stop
from moot.streaming.turn_stream import Emit
from moot.tools.toolbox import Toolbox, misfit
from moot.types.chunks import ToolCall
from moot.types.errors import MootError
from moot.types.events import ApprovalGiven, ApprovalWanted, Seat, ToolCalled, ToolReturned
from moot.types.primitives import new_id
from moot.types.requests import Tool, ToolResult
from moot.types.tools import (
    LONGEST_ARGUMENTS,
    LONGEST_RESULT,
    LONGEST_SHOWN,
    Approval,
    Outcome,
    ToolInfo,
    ToolUse,
    cut,
)

TOOL_SECONDS = 300.0
APPROVAL_SECONDS = 600.0
AT_ONCE = 8  # calls of one answer that are made side by side
LONGEST_NAME = 64  # that every provider takes
NAMED = 100
REFUSALS: dict[Approval, str] = {
    "refuse": "The person refused this call. Do not try it again; go on without it.",
    "expired": "Nobody was there to allow this call, so it was not made. Go on without it.",
    "stopped": "Stopped before anybody had allowed this call.",
}
log = logging.getLogger(__name__)


class Offer(Struct, frozen=True, kw_only=True):
    """A tool that may be called: `title` is `server/tool`. Nobody is asked about one that is `trusted`."""

    title: str
    info: ToolInfo
    toolbox: Toolbox
    trusted: bool = False


class Used(Struct, frozen=True):
    """A call that was made: what the model is told of it, and what is kept."""

    told: ToolResult
    kept: ToolUse


class Round(Struct, frozen=True, kw_only=True):
    """Where calls are made: in whose turn, when `said` characters of it were said, and who is told.

    `stop` ends a call. `hurry` ends waiting for somebody to allow one: whoever speaks in the meantime has not.
    """

    seat: Seat
    stop: Stop
    hurry: Stop
    emit: Emit
    said: int = 0


class Toolkit:
    def __init__(
        self,
        offers: Sequence[Offer] = (),
        consent: Consent | None = None,
        tool_seconds: float = TOOL_SECONDS,
        approval_seconds: float = APPROVAL_SECONDS,
    ) -> None:
        self._offers = named(offers)
        self._consent = consent or NoConsent()
        self._tool_seconds = tool_seconds
        self._approval_seconds = approval_seconds
        self._places = asyncio.Semaphore(AT_ONCE)

    @property
    def offered(self) -> tuple[Tool, ...]:
        return tuple(
            Tool(name, offer.info.description, offer.info.parameters) for name, offer in self._offers.items()
        )

    async def use(self, calls: Sequence[ToolCall], round: Round) -> list[Used]:
        """Make some calls side by side; they are returned in the order in which they were wanted."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._use(call, round)) for call in calls]
        return [task.result() for task in tasks]

    async def _use(self, call: ToolCall, round: Round) -> Used:
        offer = self._offers.get(call.name)
        title = offer.title if offer else call.name[:NAMED]
        wanted = Wanted(call_id=new_id("call"), tool=title, arguments=call.arguments, seat=round.seat)
        where = _where(wanted)
        shown = cut(call.arguments, LONGEST_ARGUMENTS)
        await round.emit([ToolCalled(name=title, arguments=shown, **where)])
        outcome, seconds = await self._outcome(offer, wanted, round)
        content = _clean(outcome.content)
        kept = ToolUse(
            call_id=wanted.call_id,
            name=title,
            arguments=shown,
            content=cut(content, LONGEST_SHOWN),
            is_error=outcome.is_error,
            seconds=int(seconds * 1000) / 1000,
            said=round.said,
        )
        result: dict[str, Any] = {
            name: getattr(kept, name) for name in ("name", "content", "is_error", "seconds")
        }
        await round.emit([ToolReturned(**result, **where)])
        return Used(ToolResult(call.id, call.name, cut(content, LONGEST_RESULT), outcome.is_error), kept)

    async def _outcome(self, offer: Offer | None, wanted: Wanted, round: Round) -> tuple[Outcome, float]:
        """Return what came of a call, and how many seconds the tool itself took."""
        clock = asyncio.get_running_loop().time
        started = clock()
        try:
            if offer is None:
                return self._unknown(wanted.tool), 0.0
            arguments = await asyncio.to_thread(_checked, offer, wanted)
            if isinstance(arguments, Outcome):
                return arguments, 0.0
            if offer.info.effects and (refusal := await self._refusal(offer, wanted, round)) is not None:
                return refusal, 0.0
            started = clock()
            return await self._made(offer, wanted, arguments, round.stop), clock() - started
        except MootError as error:
            return Outcome(str(error), is_error=True), clock() - started
        except Exception as error:
            # A mistake of ours, or of a tool, must not end the turn: here it becomes what came of the call.
            log.exception("a tool failed")
            return Outcome(f"The tool failed ({type(error).__name__}).", is_error=True), clock() - started

    def _unknown(self, name: str) -> Outcome:
        there = ", ".join(self._offers) or "none"
        return Outcome(f"There is no tool {name!r}. These tools are there: {there}.", is_error=True)

    async def _refusal(self, offer: Offer, wanted: Wanted, round: Round) -> Outcome | None:
        """Say that a call with effects may not be made, and ask where that is not known; None if it may."""
        standing = await self._consent.standing(wanted)
        if standing == "given" or (standing == "wanted" and offer.trusted):
            return None
        where, seconds = _where(wanted), self._approval_seconds
        await self._consent.ask(wanted)
        again = standing == "again"
        await round.emit([ApprovalWanted(name=wanted.tool, seconds=seconds, again=again, **where)])
        answer: Approval | None = await bounded(self._consent.answer(wanted), seconds, round.hurry)
        if answer is None:
            answer = "stopped" if round.hurry.reason else "expired"
        await round.emit([ApprovalGiven(answer=answer, **where)])
        return Outcome(REFUSALS[answer], is_error=True) if answer in REFUSALS else None

    async def _made(self, offer: Offer, wanted: Wanted, arguments: dict[str, Any], stop: Stop) -> Outcome:
        async with self._places:
            if stop.reason is None and offer.info.effects:
                await self._consent.begin(wanted)
            outcome = None
            if stop.reason is None:
                work = offer.toolbox.call(offer.info.name, arguments)
                outcome = await bounded(work, self._tool_seconds, stop)
        if outcome is not None:
            return outcome
        if stop.reason is not None:
            return Outcome("Stopped before it had returned.", is_error=True)
        maybe = " What it does may still happen." if offer.info.effects else ""
        return Outcome(
            f"{offer.title} did not return within {self._tool_seconds:g} s, and was not waited for.{maybe}",
            is_error=True,
        )


def named(offers: Sequence[Offer]) -> dict[str, Offer]:
    """Give every tool a name that every provider takes, and no two the same."""
    names: dict[str, Offer] = {}
    for offer in offers:
        plain = re.sub(r"[^a-zA-Z0-9_-]+", "_", offer.title.replace("/", "__"))[:LONGEST_NAME]
        name, number = plain, 2
        while name in names:
            name = f"{plain[: LONGEST_NAME - 4]}_{number}"
            number += 1
        names[name] = offer
    return names


def _where(wanted: Wanted) -> dict[str, Any]:
    """Say in which turn, and of which call, an event tells."""
    return {**msgspec.structs.asdict(wanted.seat), "call_id": wanted.call_id}


def _checked(offer: Offer, wanted: Wanted) -> dict[str, Any] | Outcome:
    """Read the arguments of a call, or say what is wrong with them."""
    if len(wanted.arguments) > LONGEST_ARGUMENTS:
        return Outcome(f"The arguments are longer than {LONGEST_ARGUMENTS:,} characters.", is_error=True)
    try:
        arguments: dict[str, Any] = msgspec.json.decode(wanted.arguments or "{}", type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError) as error:
        return Outcome(f"The arguments are no JSON object: {error}", is_error=True)
    if (wrong := misfit(bytes(offer.info.parameters), arguments)) is not None:
        return Outcome(f"The arguments do not fit: {wrong}", is_error=True)
    return arguments


def _clean(content: str) -> str:
    """Drop what no database keeps."""
    return content.encode("utf-8", "replace").decode().replace("\0", "")
