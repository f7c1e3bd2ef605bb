"""References to other discussions (`@"title"` in a message), resolved to summaries before the first turn.

A summary is stored and reused until its discussion changes. A failure is a notice, never an error of the run.
"""

import asyncio
import time
from collections.abc import Sequence
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.attachments import load_attached_files
from moot.engine.model_resolution import ResolveModel
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.runner import RunTranscript
from moot.engine.turns.structured_output import StructuredResult, structured_completion
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.prompts.parts import Attachment, AttachmentsByMessage
from moot.prompts.references import (
    MAX_REFERENCES,
    SummaryPoints,
    find_references,
    normalize_title,
    reference_summary_part,
    reference_summary_request,
)
from moot.prompts.tasks.knowledge import transcript_material
from moot.prompts.tasks.task import make_cache_key
from moot.store.database import retry_while_unavailable
from moot.store.runs.event_log import load_results_and_notices
from moot.store.runs.runs import RunLease
from moot.store.stores import Stores
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import NotFound, UsageError
from moot.types.events import Notice, ReferenceSummarized
from moot.types.knowledge import DiscussionSummary
from moot.types.primitives import new_id

SUMMARY_SECONDS = 60.0  # timeout of a summary, because all participants wait for it
POLL_SECONDS = 0.2  # while another run creates the same summary


class DiscussionReference(Struct, frozen=True, kw_only=True):
    """A title in a message of a run."""

    lease: RunLease
    message: str  # id
    title: str

    @property
    def cache_key(self) -> str:
        return make_cache_key("recap", self.message, normalize_title(self.title))

    @property
    def payer(self) -> Payer:
        lease = self.lease
        return Payer(tenant=lease.tenant, account=lease.account, discussion=lease.discussion, run=lease.run)


class ReferenceResolver:
    def __init__(self, stores: Stores, resolve_model: ResolveModel, model_caller: ModelCaller) -> None:
        self._summaries = stores.summaries
        self._list_messages = retry_while_unavailable(stores.discussions.list_messages)
        self._reject_if_spent = retry_while_unavailable(stores.budgets.reject_if_spent)
        self._resolve_model = retry_while_unavailable(resolve_model)
        self._model_caller = model_caller
        self._summary_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def resolve_references(self, lease: RunLease, run_transcript: RunTranscript, stop: StopSignal) -> None:
        """Create the missing summaries, concurrently. After a crash, finished references are skipped."""
        messages = [m for m in run_transcript.messages if m.run == lease.run and _can_contain_references(m)]
        for message in messages:
            titles = find_references(message.content)
            references = [DiscussionReference(lease=lease, message=message.id, title=one) for one in titles]
            done = {result.cache_key for result in run_transcript.analysis_results}
            new = [one for one in references[:MAX_REFERENCES] if one.cache_key not in done]
            async with asyncio.TaskGroup() as group:
                for one in new:
                    group.create_task(self._resolve_reference(one, run_transcript, stop))
            if len(titles) > MAX_REFERENCES:
                skipped = ", ".join(titles[MAX_REFERENCES:])
                text = f"A message can refer to at most {MAX_REFERENCES} discussions. Not read: {skipped}."
                await run_transcript.append_events([Notice(kind="missing", message=text)])

    async def _resolve_reference(
        self, reference: DiscussionReference, run_transcript: RunTranscript, stop: StopSignal
    ) -> None:
        try:
            discussion_id = await self._find_discussion(reference)
            lock = self._summary_locks.setdefault(discussion_id, asyncio.Lock())
            while lock.locked():  # poll, because waiting for the lock ignores a stop
                if await stop.sleep_unless_stopped(POLL_SECONDS):
                    return
            async with lock:  # two runs that refer to the same discussion create one summary
                await self._ensure_summary(reference, discussion_id, run_transcript, stop)
        except UsageError as error:  # such as an unknown title, a missing key, or a spent budget
            await run_transcript.append_events([Notice(kind="missing", message=str(error))])

    @retry_while_unavailable
    async def _find_discussion(self, reference: DiscussionReference) -> str:
        """Return the newest other discussion with the title. Raises NotFound."""
        lease, title = reference.lease, normalize_title(reference.title)
        found = await self._summaries.find_by_title(lease.tenant, lambda one: normalize_title(one) == title)
        others = [id for id in found if id != lease.discussion]
        if others:
            return others[0]
        problem = "is this discussion itself" if found else "is not the title of a discussion"
        raise NotFound(f'@"{reference.title}" {problem}. It is sent as plain text.')

    async def _ensure_summary(
        self, reference: DiscussionReference, discussion_id: str, run_transcript: RunTranscript, stop: StopSignal
    ) -> None:
        message_count = await self._summaries.count_public_messages(discussion_id)
        known = await self._summaries.newest_summary(reference.lease.tenant, discussion_id)
        if known is not None and known.is_up_to_date(message_count):
            await run_transcript.commit_event(_reference_event(reference, known))
            return
        if (account := reference.lease.account) is not None:
            await self._reject_if_spent(account)
        text = f'Reading "{reference.title}", which the message refers to.'
        await run_transcript.append_events([Notice(kind="reference_summary", message=text)])
        messages = await self._list_messages(discussion_id, include_hidden=False)
        public = [one for one in messages if one.visible_to is None]
        answer = await self._request_summary(reference.lease, public, stop)
        charge = Charge(purpose="reference_summary", model=answer.model, usage=answer.usage, cost_usd=answer.cost_usd)
        if answer.value is None:
            reason = answer.fault.message if answer.fault else "It was stopped, or took too long."
            text = f'There is no summary of "{reference.title}". {reason}'
            await run_transcript.commit_event(Notice(kind="missing", message=text, charge=charge), charge=charge)
            return
        new = DiscussionSummary(
            id=new_id("summary"),
            discussion=discussion_id,
            points=answer.value.points,
            messages=message_count,
            model=answer.model,
            created_at=time.time(),
        )
        await self._summaries.save_summary(reference.payer, new, charge)
        await run_transcript.commit_event(_reference_event(reference, new, answer), charge=charge)

    async def _request_summary(
        self, lease: RunLease, messages: Sequence[Message], stop: StopSignal
    ) -> StructuredResult[SummaryPoints]:
        model = lease.plan.task_model or lease.plan.participants[0].model
        chain = await self._resolve_model(lease.tenant, model)
        material = transcript_material(messages, await asyncio.to_thread(max_prompt_chars, chain))
        call_stop = StopSignal(stop)
        timer = asyncio.get_running_loop().call_later(SUMMARY_SECONDS, call_stop.request_stop, "late")
        try:
            return await structured_completion(
                self._model_caller, chain, reference_summary_request(material.text), SummaryPoints, stop=call_stop
            )
        finally:
            timer.cancel()


async def load_attachments(
    stores: Stores, tenant: str, messages: Sequence[Message], *, only_text: bool = False
) -> AttachmentsByMessage:
    """Load reference summaries and attached files by message id. `only_text` as in `load_attached_files`."""
    summaries = await load_reference_summaries(stores, tenant, messages)
    files = await load_attached_files(stores.files, tenant, messages, only_text=only_text)
    return {id: (*summaries.get(id, ()), *files.get(id, ())) for id in {**summaries, **files}}


async def load_reference_summaries(stores: Stores, tenant: str, messages: Sequence[Message]) -> AttachmentsByMessage:
    """Load the summaries that earlier prompts contained, by id of the referring message."""
    runs = {one.run for one in messages if one.run and _can_contain_references(one) and find_references(one.content)}
    if not runs:
        return {}
    results = await load_results_and_notices(stores.database, runs, ReferenceSummarized)
    found = [one for one in results if isinstance(one, ReferenceSummarized)]
    summaries = await stores.summaries.summaries_by_ids(tenant, [one.summary for one in found])
    known = {
        (one.message, normalize_title(one.title)): summaries[one.summary] for one in found if one.summary in summaries
    }
    return {
        one.id: tuple(
            Attachment(
                reference_summary_part(title, known[one.id, normalize_title(title)].points), "reference_summary", title
            )
            for title in find_references(one.content)
            if (one.id, normalize_title(title)) in known
        )
        for one in messages
    }


def _can_contain_references(message: Message) -> bool:
    return message.role == "user" and message.participant is None and not message.hidden


def _reference_event(
    reference: DiscussionReference, summary: DiscussionSummary, answer: StructuredResult[SummaryPoints] | None = None
) -> ReferenceSummarized:
    return ReferenceSummarized(
        cache_key=reference.cache_key,
        model=summary.model,
        usage=answer.usage if answer else Usage(),
        cost_usd=answer.cost_usd if answer else 0.0,
        message=reference.message,
        title=reference.title,
        discussion=summary.discussion,
        summary=summary.id,
    )
