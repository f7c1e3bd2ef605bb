"""Asking people whether a call may be made, in a run that is stored: whichever process they answer to, this one hears."""

import asyncio
from collections.abc import Mapping

from moot.engine.tools.approval_policy import Standing, Wanted
from moot.engine.waits import patiently
from moot.store.runs.approvals import Call, Permissions
from moot.store.runs.runs import Claim
from moot.types.events import ApprovalWanted
from moot.types.primitives import new_id
from moot.types.tools import Decision


class Answers:
    """What was answered in a run, for whoever waits for it."""

    def __init__(self) -> None:
        self._waiting: dict[str, asyncio.Future[Decision]] = {}

    def hear(self, given: Mapping[str, Decision]) -> None:
        for call, waiting in self._waiting.items():
            if call in given and not waiting.done():
                waiting.set_result(given[call])

    def expect(self, call: str) -> None:
        self._waiting[call] = asyncio.get_running_loop().create_future()

    async def to(self, call: str) -> Decision:
        try:
            return await self._waiting[call]
        finally:
            del self._waiting[call]


class Asking:
    """The consent of people to what is called in one attempt to take a turn."""

    def __init__(self, permissions: Permissions, claim: Claim, answers: Answers) -> None:
        self._permissions = permissions
        self._claim = claim
        self._answers = answers
        self._attempt = new_id("try")

    async def standing(self, wanted: Wanted) -> Standing:
        call = self._call(wanted)
        if await patiently(lambda: self._permissions.was_begun(call)):
            return "again"
        given = await patiently(lambda: self._permissions.is_given(call.discussion, call.tool))
        return "given" if given else "wanted"

    async def ask(self, wanted: Wanted) -> None:
        self._answers.expect(wanted.call_id)
        await patiently(lambda: self._permissions.ask(self._call(wanted)))

    async def answer(self, wanted: Wanted) -> Decision:
        try:
            return await self._answers.to(wanted.call_id)
        except asyncio.CancelledError:
            await self._permissions.withdraw(wanted.call_id)
            raise

    async def begin(self, wanted: Wanted) -> None:
        await patiently(lambda: self._permissions.begin(self._call(wanted)))

    def _call(self, wanted: Wanted) -> Call:
        claim, seat = self._claim, wanted.seat
        return Call(
            id=wanted.call_id,
            tenant=claim.tenant,
            discussion=claim.discussion,
            run=claim.run,
            participant=seat.participant,
            stage=seat.stage,
            round=seat.round,
            attempt=self._attempt,
            tool=wanted.tool,
        )


def how_to_allow(who: str, wanted: ApprovalWanted) -> str:
    """Name the call, and the two places in which it can be answered."""
    path = f"/api/runs/{wanted.run}/approvals/{wanted.call_id}"
    return (
        f"{who} wants to call {wanted.name}, and waits for consent: allow or refuse it on the page, "
        f'or by POST {path} with {{"answer": "allow"}} or {{"answer": "refuse"}}.'
    )
