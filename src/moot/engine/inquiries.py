"""Finding something out about what was said: asked once for the same, kept with what it cost, never fatal."""

import asyncio
from typing import Any

from msgspec.structs import replace

from moot.context.inquiry import Ask, Inquiry
from moot.engine.room import room
from moot.engine.speaker import Speaker
from moot.engine.structured import Shaped, structured
from moot.engine.turns import ChainOf, Transcript
from moot.model.errors import UsageError
from moot.model.events import Notice, TurnStatus
from moot.model.money import Charge
from moot.model.participants import Participant
from moot.streams.stop import Stop


class Inquiries:
    def __init__(
        self, run: str, transcript: Transcript, chain_of: ChainOf, speaker: Speaker, stop: Stop
    ) -> None:
        self._run = run
        self._transcript = transcript
        self._chain_of = chain_of
        self._speaker = speaker
        self._stop = stop

    async def make(self, name: str, who: Participant, ask: Ask) -> TurnStatus:
        """Let a model find something out; where it does not, only a notice comes of it."""
        try:
            chain = await self._chain_of(who)
        except UsageError as error:
            return await self._missing(name, who, str(error))
        inquiry = ask(self._transcript.said, self._run, await asyncio.to_thread(room, chain))
        if any(found.basis == inquiry.basis for found in self._transcript.found):
            return "completed"
        answer = await structured(
            self._speaker, chain, inquiry.request, inquiry.answer, inquiry.check, self._stop
        )
        charge = _charge(inquiry, who, answer)
        if answer.value is None:
            return await self._missing(name, who, answer.fault.message if answer.fault else "", charge)
        found = inquiry.found(answer.value)
        paid = replace(found, model=answer.model, usage=answer.usage, cost=answer.cost)
        await self._transcript.keep(paid, charges=[charge])
        return "completed"

    async def _missing(
        self, name: str, who: Participant, why: str, charge: Charge | None = None
    ) -> TurnStatus:
        why = "The run was stopped." if self._stop.reason is not None else why
        message = f"There is no {name} from {who.name}. {why}".strip()
        charges = [charge] if charge else []
        await self._transcript.keep(Notice(kind="missing", message=message), charges=charges)
        return "failed"


def _charge(inquiry: Inquiry, who: Participant, answer: Shaped[Any]) -> Charge:
    return Charge(
        purpose=inquiry.purpose,
        model=answer.model,
        usage=answer.usage,
        cost=answer.cost,
        participant=who.id,
    )
