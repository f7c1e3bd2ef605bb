"""References to other discussions: what they came to is found out before anybody is asked, once, and never fatal."""

import asyncio
import time
from collections.abc import Sequence
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.attachments import load_attached_files
from moot.engine.model_resolution import ResolveModel
from moot.engine.turns.context import RunTranscript
from moot.engine.turns.model_caller import ModelCaller
from moot.engine.turns.structured_output import StructuredResult, structured_completion
from moot.engine.turns.token_estimates import max_prompt_chars
from moot.engine.waits import retry_while_unavailable
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
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.library.summaries import DiscussionSummaries
from moot.store.runs.findings import load_results_and_notices
from moot.store.runs.runs import RunLease
from moot.streaming.cancellation import StopSignal
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import NotFound, UsageError
from moot.types.events import Notice, Recapped
from moot.types.knowledge import DiscussionSummary
from moot.types.primitives import new_id

SUMMARY_SECONDS = 60.0  # that everybody waits for a recap at most
POLL_SECONDS = 0.2  # at whether another run has made it


class DiscussionReference(Struct, frozen=True, kw_only=True):
    """A title in a message of a run."""

    lease: RunLease
    message: str
    title: str

    @property
    def cache_key(self) -> str:
        return make_cache_key("recap", self.message, normalize_title(self.title))

    @property
    def payer(self) -> Payer:
        claim = self.lease
        return Payer(tenant=claim.tenant, account=claim.account, discussion=claim.discussion, run=claim.run)


class ReferenceResolver:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(
        self, database: Database, resolve_model: ResolveModel, model_caller: ModelCaller, budgets: Budgets
    ) -> None:
        self._summaries = DiscussionSummaries(database)
        self._discussions = Discussions(database)
        self._resolve_model = resolve_model
        self._model_caller = model_caller
        self._budgets = budgets
        self._summary_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def resolve_references(
        self, lease: RunLease, run_transcript: RunTranscript, stop: StopSignal
    ) -> None:
        """See to it that there is a recap of everything that the message of a run refers to."""
        asked = [m for m in run_transcript.messages if m.run == lease.run and _can_contain_references(m)]
        for message in asked:
            titles = find_references(message.content)
            wanted = [DiscussionReference(lease=lease, message=message.id, title=one) for one in titles]
            done = {found.basis for found in run_transcript.analysis_results}
            new = [one for one in wanted[:MAX_REFERENCES] if one.cache_key not in done]
            async with asyncio.TaskGroup() as beside:
                for one in new:
                    beside.create_task(self._resolve_reference(one, run_transcript, stop))
            if len(titles) > MAX_REFERENCES:
                words = f"A message brings at most {MAX_REFERENCES} other discussions: {', '.join(titles[MAX_REFERENCES:])} are not read."
                await run_transcript.append_events([Notice(kind="missing", message=words)])

    async def _resolve_reference(
        self, reference: DiscussionReference, run_transcript: RunTranscript, stop: StopSignal
    ) -> None:
        try:
            about = await retry_while_unavailable(lambda: self._find_discussion(reference))
            turn = self._summary_locks.setdefault(about, asyncio.Lock())
            while turn.locked():
                if await stop.sleep_unless_stopped(POLL_SECONDS):
                    return
            async with turn:  # two runs that want the same have it made once
                await self._ensure_summary(reference, about, run_transcript, stop)
        except UsageError as error:  # such as a title that is not there, a missing key, or an empty purse
            await run_transcript.append_events([Notice(kind="missing", message=str(error))])

    async def _find_discussion(self, reference: DiscussionReference) -> str:
        """Find the discussion that is meant: the newest of this title, and not the one that refers to it."""
        claim, title = reference.lease, normalize_title(reference.title)
        found = await self._summaries.find_by_title(claim.tenant, lambda one: normalize_title(one) == title)
        others = [id for id in found if id != claim.discussion]
        if others:
            return others[0]
        which = "is this discussion itself" if found else "is the title of no discussion"
        raise NotFound(f'@"{reference.title}" {which}: the words stay as they are.')

    async def _ensure_summary(
        self,
        reference: DiscussionReference,
        discussion_id: str,
        run_transcript: RunTranscript,
        stop: StopSignal,
    ) -> None:
        now = await retry_while_unavailable(lambda: self._summaries.count_public_messages(discussion_id))
        known = await retry_while_unavailable(
            lambda: self._summaries.newest_summary(reference.lease.tenant, discussion_id)
        )
        if known is not None and known.is_up_to_date(now):
            await run_transcript.commit_event(_reference_event(reference, known))
            return
        if (account := reference.lease.account) is not None:
            await retry_while_unavailable(lambda: self._budgets.reject_if_spent(account))
        words = f'Reading "{reference.title}", which the message refers to.'
        await run_transcript.append_events([Notice(kind="recap", message=words)])
        said = await retry_while_unavailable(
            lambda: self._discussions.list_messages(discussion_id, include_hidden=False)
        )
        heard = [one for one in said if one.audience is None]
        answer = await self._request_summary(reference.lease, heard, stop)
        charge = Charge(purpose="recap", model=answer.model, usage=answer.usage, cost=answer.cost)
        if answer.value is None:
            why = answer.fault.message if answer.fault else "It was stopped, or took too long."
            words = f'There is no summary of "{reference.title}". {why}'
            await run_transcript.commit_event(
                Notice(kind="missing", message=words, charge=charge), charges=[charge]
            )
            return
        new = _new_summary(discussion_id, answer, answer.value, now)
        await retry_while_unavailable(lambda: self._summaries.save_summary(reference.payer, new, charge))
        await run_transcript.commit_event(_reference_event(reference, new, answer), charges=[charge])

    async def _request_summary(
        self, lease: RunLease, messages: Sequence[Message], stop: StopSignal
    ) -> StructuredResult[SummaryPoints]:
        model = lease.plan.clerk or lease.plan.participants[0].model
        chain = await retry_while_unavailable(lambda: self._resolve_model(lease.tenant, model))
        material = transcript_material(messages, await asyncio.to_thread(max_prompt_chars, chain))
        patience = StopSignal(stop)
        late = asyncio.get_running_loop().call_later(SUMMARY_SECONDS, patience.request_stop, "late")
        try:
            return await structured_completion(
                self._model_caller,
                chain,
                reference_summary_request(material.text),
                SummaryPoints,
                stop=patience,
            )
        finally:
            late.cancel()


async def load_attachments(
    database: Database, tenant: str, messages: Sequence[Message], *, only_text: bool = False
) -> AttachmentsByMessage:
    """Load all that is handed on with messages: recaps of what they refer to, and the files that came with them."""
    recaps = await load_reference_summaries(database, tenant, messages)
    files = await load_attached_files(Files(database), tenant, messages, only_text=only_text)
    return {id: (*recaps.get(id, ()), *files.get(id, ())) for id in {**recaps, **files}}


async def load_reference_summaries(
    database: Database, tenant: str, messages: Sequence[Message]
) -> AttachmentsByMessage:
    """Load the recaps that were handed on with messages, by the message that refers to them."""
    runs = {
        one.run
        for one in messages
        if one.run and _can_contain_references(one) and find_references(one.content)
    }
    if not runs:
        return {}
    found = [
        one for one in await load_results_and_notices(database, runs, Recapped) if isinstance(one, Recapped)
    ]
    recaps = await DiscussionSummaries(database).summaries_by_ids(tenant, [one.recap for one in found])
    known = {
        (one.message, normalize_title(one.title)): recaps[one.recap] for one in found if one.recap in recaps
    }
    return {
        one.id: tuple(
            Attachment(
                reference_summary_part(title, known[one.id, normalize_title(title)].points), "recap", title
            )
            for title in find_references(one.content)
            if (one.id, normalize_title(title)) in known
        )
        for one in messages
    }


def _can_contain_references(message: Message) -> bool:
    return message.role == "user" and message.participant is None and not message.hidden


def _new_summary(
    discussion_id: str, answer: StructuredResult[SummaryPoints], value: SummaryPoints, message_count: int
) -> DiscussionSummary:
    return DiscussionSummary(
        id=new_id("recap"),
        discussion=discussion_id,
        points=value.points,
        messages=message_count,
        model=answer.model,
        created_at=time.time(),
    )


def _reference_event(
    reference: DiscussionReference,
    summary: DiscussionSummary,
    answer: StructuredResult[SummaryPoints] | None = None,
) -> Recapped:
    return Recapped(
        basis=reference.cache_key,
        model=summary.model,
        usage=answer.usage if answer else Usage(),
        cost=answer.cost if answer else 0.0,
        message=reference.message,
        title=reference.title,
        discussion=summary.discussion,
        recap=summary.id,
    )
