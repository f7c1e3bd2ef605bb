"""Finding something out about what was said: asked once for the same, kept with what it cost, never fatal."""

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from moot.engine.turns.context import ChainOf, Transcript
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.structured_output import Shaped, inquired
from moot.engine.turns.token_estimates import room
from moot.prompts.tasks.task import Ask
from moot.streaming.cancellation import Stop
from moot.types.billing import Charge, Purpose
from moot.types.errors import UsageError
from moot.types.events import Notice
from moot.types.participants import Participant

WORDS: Mapping[Purpose, str] = {
    "gate": "word on whether the answers agree",
    "ranking": "ballot",
    "director": "decision",
}


class Inquiries:
    def __init__(
        self, run: str, transcript: Transcript, chain_of: ChainOf, speaker: Speaker, stop: Stop
    ) -> None:
        self._run = run
        self._transcript = transcript
        self._chain_of = chain_of
        self._speaker = speaker
        self._stop = stop

    async def make(self, purpose: Purpose, who: Participant, ask: Ask) -> str:
        """Let a model find something out, and return its basis; where it does not, only a notice comes of it."""
        try:
            chain = await self._chain_of(who)
        except UsageError as error:
            return await self._missing(purpose, who, str(error))
        inquiry = ask(self._transcript.said, self._run, await asyncio.to_thread(room, chain))
        if any(found.basis == inquiry.basis for found in self._transcript.found):
            return inquiry.basis
        answer = await inquired(self._speaker, chain, inquiry, self._stop)
        charge = _charge(purpose, who, answer)
        if answer.value is None:
            return await self._missing(purpose, who, answer.fault.message if answer.fault else "", charge)
        found = inquiry.found(answer.value)
        paid = replace(found, model=answer.model, usage=answer.usage, cost=answer.cost)
        await self._transcript.keep(paid, charges=[charge])
        return inquiry.basis

    async def _missing(
        self, purpose: Purpose, who: Participant, why: str, charge: Charge | None = None
    ) -> str:
        why = "The run was stopped." if self._stop.reason is not None else why
        instead = " The rules decide instead." if purpose == "director" else ""
        message = f"There is no {WORDS.get(purpose, purpose)} from {who.model}. {why}".strip() + instead
        charges = [charge] if charge else []
        await self._transcript.keep(Notice(kind="missing", message=message, charge=charge), charges=charges)
        return ""


def _charge(purpose: Purpose, who: Participant, answer: Shaped[Any]) -> Charge:
    return Charge(
        purpose=purpose,
        model=answer.model,
        usage=answer.usage,
        cost=answer.cost,
        participant=who.id,
    )
