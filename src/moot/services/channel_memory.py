"""Remembering what was said in channels: in the prompts of the next run there, and summed up after it, by a clerk."""

import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext

from msgspec.structs import replace

from moot.engine.model_resolution import Chains
from moot.engine.waits import patiently
from moot.prompts.memory import (
    SUMMARY_LASTS,
    fallen_out,
    heard,
    lasting,
    plainly,
    recalled,
    summary_of,
    summing_up,
)
from moot.services.model_tasks import Errands
from moot.store.database import Database
from moot.store.discord.memories import Memories, Overheard
from moot.store.runs.runs import Claim
from moot.types.billing import Payer
from moot.types.discord import Remembered, Summary
from moot.types.errors import MootError
from moot.types.run_plan import Plan

log = logging.getLogger(__name__)


class Remembering:
    """Nothing depends on it: where a clerk is missing or fails, what fell out is cut instead of summed up."""

    def __init__(self, database: Database, chains: Chains, errands: Errands) -> None:
        self._memories = Memories(database)
        self._chains = chains
        self._errands = errands

    async def recall(
        self, tenant: str, discussion: str, plan: Plan, channel: str | None = None, author: str | None = None
    ) -> Plan:
        """Let everybody at the table know what was said where the discussion is led; `author` speaks there now."""
        id = channel or await self._memories.channel_of(tenant, discussion)
        if id is None:
            return plan
        now = time.time()
        said = await self._memories.overheard(tenant, id, now - SUMMARY_LASTS)
        summaries = await self._memories.summaries(id)
        words = [one.message for one in said]
        memories = {
            who.id: recalled(heard(words, who.id), summaries.get(who.id), discussion, now)
            for who in plan.participants
        }
        return replace(
            plan,
            channel=id,
            people=_people(said, author),
            memories={who: text for who, text in memories.items() if text},
        )

    async def note(self, claim: Claim) -> None:
        """Sum up what fell out of the memories of those who were at the table of a run that is over."""
        id = claim.plan.channel
        if id is None:
            return
        now = time.time()
        said = await patiently(lambda: self._memories.overheard(claim.tenant, id, now - SUMMARY_LASTS))
        summaries = await patiently(lambda: self._memories.summaries(id))
        words = [one.message for one in said]
        made: dict[object, str] = {}  # who forgets the same has it summed up once
        for who in claim.plan.participants:
            last = summaries.get(who.id)
            fallen = fallen_out(heard(words, who.id), last, now)
            if fallen:
                await self._forget(claim, who.id, lasting(last, now), fallen, made)

    async def _forget(
        self,
        claim: Claim,
        who: str,
        before: Summary | None,
        fallen: Sequence[Remembered],
        made: dict[object, str],
    ) -> None:
        same = summing_up(before, fallen).messages
        if same not in made:
            made[same] = await self._summed_up(claim, before, fallen)
        new = summary_of(made[same], before, fallen, time.time())
        await patiently(lambda: self._memories.keep(claim.plan.channel or "", who, new))

    async def _summed_up(self, claim: Claim, before: Summary | None, fallen: Sequence[Remembered]) -> str:
        clerk = claim.plan.clerk
        if clerk is None:
            return plainly(before, fallen)
        payer = Payer(tenant=claim.tenant, account=claim.account, discussion=claim.discussion, run=claim.run)
        try:
            chain = await self._chains(claim.tenant, clerk)
            async with self._errands.within_budget(claim.account) if claim.account else nullcontext():
                ended = await self._errands.answer(payer, "memory", chain, summing_up(before, fallen))
        except MootError as error:  # such as a missing key, or an empty purse
            log.warning("what fell out of a memory is cut", extra={"run": claim.run, "reason": str(error)})
            return plainly(before, fallen)
        words = ended.message.text.strip() if ended.status == "completed" else ""
        return words or plainly(before, fallen)


def _people(said: Sequence[Overheard], author: str | None) -> tuple[str, ...]:
    """Name those who spoke; what is written in a channel begins with the name of who wrote it."""
    names = [one.message.content.partition(": ")[0] for one in said if one.here]
    return tuple(dict.fromkeys(filter(None, [*names, author])))
