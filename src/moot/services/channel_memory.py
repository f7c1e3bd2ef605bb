"""Channel memory: adds earlier messages of a Discord channel to the prompts of its next run.

After a run, the task model summarizes expired messages.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

from msgspec.structs import replace

from moot.engine.model_resolution import ResolveModel
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
from moot.store.database import retry_while_unavailable
from moot.store.discord.memories import ChannelMemories, ChannelMessage
from moot.store.runs.runs import RunLease
from moot.types.billing import Payer
from moot.types.discord import MemoryEntry, MemorySummary
from moot.types.errors import MootError
from moot.types.run_plan import RunPlan

log = logging.getLogger(__name__)


class ChannelMemory:
    """Memory of channels. If the task model is missing or fails, old messages are truncated."""

    def __init__(self, memories: ChannelMemories, resolve_model: ResolveModel, model_tasks: ModelTasks) -> None:
        self._memories = memories
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks

    async def add_memory_to_plan(
        self, tenant: str, discussion: str, plan: RunPlan, channel: str | None = None, author: str | None = None
    ) -> RunPlan:
        """Return the plan unchanged if the discussion has no channel. `author` is the current user's name."""
        id = channel or await self._memories.find_channel(tenant, discussion)
        if id is None:
            return plan
        now = time.time()
        channel_messages, summaries = await self._load_memory(tenant, id, now)
        messages = [one.message for one in channel_messages]
        memories = {
            who.id: render_memory(memory_entries(messages, who.id), summaries.get(who.id), discussion, now)
            for who in plan.participants
        }
        return replace(
            plan,
            channel=id,
            human_names=_channel_people(channel_messages, author),
            memories={who: text for who, text in memories.items() if text},
        )

    async def summarize_after_run(self, lease: RunLease) -> None:
        """Store new summaries for the participants of a completed run. Retries while the database is unavailable."""
        id = lease.plan.channel
        if id is None:
            return
        now = time.time()
        channel_messages, summaries = await retry_while_unavailable(self._load_memory)(lease.tenant, id, now)
        messages = [one.message for one in channel_messages]
        cache: dict[object, str] = {}  # summaries by request: participants often have the same one
        for who in lease.plan.participants:
            last = summaries.get(who.id)
            expired = entries_to_summarize(memory_entries(messages, who.id), last, now)
            if expired:
                await self._store_summary(lease, who.id, valid_summary(last, now), expired, cache)

    async def _load_memory(
        self, tenant: str, channel: str, now: float
    ) -> tuple[Sequence[ChannelMessage], Mapping[str, MemorySummary]]:
        messages = await self._memories.channel_messages(tenant, channel, now - SUMMARY_LIFETIME_SECONDS)
        return messages, await self._memories.memory_summaries(channel)

    async def _store_summary(
        self,
        lease: RunLease,
        participant: str,
        previous: MemorySummary | None,
        expired: Sequence[MemoryEntry],
        cache: dict[object, str],
    ) -> None:
        key = memory_summary_request(previous, expired).messages
        if key not in cache:
            cache[key] = await self._write_summary(lease, previous, expired)
        new = make_memory_summary(cache[key], previous, expired, time.time())
        await self._memories.save_memory_summary(lease.plan.channel or "", participant, new)

    async def _write_summary(
        self, lease: RunLease, previous: MemorySummary | None, expired: Sequence[MemoryEntry]
    ) -> str:
        task_model = lease.plan.task_model
        if task_model is None:
            return summarize_without_model(previous, expired)
        payer = Payer(tenant=lease.tenant, account=lease.account, discussion=lease.discussion, run=lease.run)
        try:
            chain = await self._resolve_model(lease.tenant, task_model)
            async with self._model_tasks.within_budget(lease.account) if lease.account else nullcontext():
                ended = await self._model_tasks.stream_text_task(
                    payer, "memory", chain, memory_summary_request(previous, expired)
                )
        except MootError as error:  # e.g. a missing key, or a spent budget
            log.warning("channel memory: summary failed; truncating", extra={"run": lease.run, "reason": str(error)})
            return summarize_without_model(previous, expired)
        text = ended.message.text.strip() if ended.status == "completed" else ""
        return text or summarize_without_model(previous, expired)


def _channel_people(messages: Sequence[ChannelMessage], author: str | None) -> tuple[str, ...]:
    """Return the names of users. Messages from a channel have the format `name: text`."""
    names = [one.message.content.partition(": ")[0] for one in messages if one.from_channel]
    return tuple(dict.fromkeys(filter(None, [*names, author])))
