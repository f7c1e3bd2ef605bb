"""Remembering what was said in channels: in the prompts of the next run there, and summed up after it, by a clerk."""

import logging
import time
from collections.abc import Sequence
from contextlib import nullcontext

from msgspec.structs import replace

from moot.engine.model_resolution import ResolveModel
from moot.engine.waits import retry_while_unavailable
from moot.prompts.memory import (
    SUMMARY_LIFETIME_SECONDS,
    entries_to_summarize,
    make_memory_summary,
    memory_entries,
    memory_summary_request,
    render_memory,
    summarize_without_model,
    valid_summary,
)
from moot.services.model_tasks import ModelTasks
from moot.store.database import Database
from moot.store.discord.memories import ChannelMemories, ChannelMessage
from moot.store.runs.runs import RunLease
from moot.types.billing import Payer
from moot.types.discord import MemoryEntry, MemorySummary
from moot.types.errors import MootError
from moot.types.run_plan import RunPlan

log = logging.getLogger(__name__)


class ChannelMemory:
    """Nothing depends on it: where a clerk is missing or fails, what fell out is cut instead of summed up."""

    def __init__(self, database: Database, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._memories = ChannelMemories(database)
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def add_memory_to_plan(
        self,
        tenant: str,
        discussion: str,
        plan: RunPlan,
        channel: str | None = None,
        author: str | None = None,
    ) -> RunPlan:
        """Let everybody at the table know what was said where the discussion is led; `author` speaks there now."""
        id = channel or await self._memories.find_channel(tenant, discussion)
        if id is None:
            return plan
        now = time.time()
        said = await self._memories.channel_messages(tenant, id, now - SUMMARY_LIFETIME_SECONDS)
        summaries = await self._memories.memory_summaries(id)
        words = [one.message for one in said]
        memories = {
            who.id: render_memory(memory_entries(words, who.id), summaries.get(who.id), discussion, now)
            for who in plan.participants
        }
        return replace(
            plan,
            channel=id,
            people=_channel_people(said, author),
            memories={who: text for who, text in memories.items() if text},
        )

    async def summarize_after_run(self, lease: RunLease) -> None:
        """Sum up what fell out of the memories of those who were at the table of a run that is over."""
        id = lease.plan.channel
        if id is None:
            return
        now = time.time()
        said = await retry_while_unavailable(
            lambda: self._memories.channel_messages(lease.tenant, id, now - SUMMARY_LIFETIME_SECONDS)
        )
        summaries = await retry_while_unavailable(lambda: self._memories.memory_summaries(id))
        words = [one.message for one in said]
        made: dict[object, str] = {}  # who forgets the same has it summed up once
        for who in lease.plan.participants:
            last = summaries.get(who.id)
            fallen = entries_to_summarize(memory_entries(words, who.id), last, now)
            if fallen:
                await self._store_summary(lease, who.id, valid_summary(last, now), fallen, made)

    async def _store_summary(
        self,
        lease: RunLease,
        participant: str,
        previous: MemorySummary | None,
        expired: Sequence[MemoryEntry],
        cache: dict[object, str],
    ) -> None:
        same = memory_summary_request(previous, expired).messages
        if same not in cache:
            cache[same] = await self._write_summary(lease, previous, expired)
        new = make_memory_summary(cache[same], previous, expired, time.time())
        await retry_while_unavailable(
            lambda: self._memories.save_memory_summary(lease.plan.channel or "", participant, new)
        )

    async def _write_summary(
        self, lease: RunLease, previous: MemorySummary | None, expired: Sequence[MemoryEntry]
    ) -> str:
        clerk = lease.plan.clerk
        if clerk is None:
            return summarize_without_model(previous, expired)
        payer = Payer(tenant=lease.tenant, account=lease.account, discussion=lease.discussion, run=lease.run)
        try:
            chain = await self._resolve_model(lease.tenant, clerk)
            async with self._model_tasks.within_budget(lease.account) if lease.account else nullcontext():
                ended = await self._model_tasks.stream_text_task(
                    payer, "memory", chain, memory_summary_request(previous, expired)
                )
        except MootError as error:  # such as a missing key, or an empty purse
            log.warning("what fell out of a memory is cut", extra={"run": lease.run, "reason": str(error)})
            return summarize_without_model(previous, expired)
        words = ended.message.text.strip() if ended.status == "completed" else ""
        return words or summarize_without_model(previous, expired)


def _channel_people(messages: Sequence[ChannelMessage], author: str | None) -> tuple[str, ...]:
    """Name those who spoke; what is written in a channel begins with the name of who wrote it."""
    names = [one.message.content.partition(": ")[0] for one in messages if one.from_channel]
    return tuple(dict.fromkeys(filter(None, [*names, author])))
