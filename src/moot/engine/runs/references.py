"""References to other discussions: what they came to is found out before anybody is asked, once, and never fatal."""

import asyncio
import time
from collections.abc import Sequence
from weakref import WeakValueDictionary

from msgspec import Struct

from moot.engine.attachments import attached
from moot.engine.model_resolution import Chains
from moot.engine.turns.context import Transcript
from moot.engine.turns.model_caller import Speaker
from moot.engine.turns.structured_output import Shaped, structured
from moot.engine.turns.token_estimates import room
from moot.engine.waits import patiently
from moot.prompts.parts import Attached, Enclosed
from moot.prompts.references import MOST, Points, recap_part, recapping, references, same
from moot.prompts.tasks.knowledge import transcript
from moot.prompts.tasks.task import basis
from moot.store.billing.budgets import Budgets
from moot.store.database import Database
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.library.summaries import Recaps
from moot.store.runs.findings import told_in
from moot.store.runs.runs import Claim
from moot.streaming.cancellation import Stop
from moot.types.billing import Charge, Payer
from moot.types.chunks import Usage
from moot.types.discussions import Message
from moot.types.errors import NotFound, UsageError
from moot.types.events import Notice, Recapped
from moot.types.knowledge import Recap
from moot.types.primitives import new_id

SECONDS = 60.0  # that everybody waits for a recap at most
LOOK_SECONDS = 0.2  # at whether another run has made it


class Reference(Struct, frozen=True, kw_only=True):
    """A title in a message of a run."""

    claim: Claim
    message: str
    title: str

    @property
    def basis(self) -> str:
        return basis("recap", self.message, same(self.title))

    @property
    def payer(self) -> Payer:
        claim = self.claim
        return Payer(tenant=claim.tenant, account=claim.account, discussion=claim.discussion, run=claim.run)


class Recapping:
    """`chains` finds who is asked for a tenant's model."""

    def __init__(self, database: Database, chains: Chains, speaker: Speaker, budgets: Budgets) -> None:
        self._recaps = Recaps(database)
        self._discussions = Discussions(database)
        self._chains = chains
        self._speaker = speaker
        self._budgets = budgets
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def make(self, claim: Claim, record: Transcript, stop: Stop) -> None:
        """See to it that there is a recap of everything that the message of a run refers to."""
        asked = [m for m in record.said if m.run == claim.run and _may_refer(m)]
        for message in asked:
            titles = references(message.content)
            wanted = [Reference(claim=claim, message=message.id, title=one) for one in titles]
            done = {found.basis for found in record.found}
            new = [one for one in wanted[:MOST] if one.basis not in done]
            async with asyncio.TaskGroup() as beside:
                for one in new:
                    beside.create_task(self._make(one, record, stop))
            if len(titles) > MOST:
                words = f"A message brings at most {MOST} other discussions: {', '.join(titles[MOST:])} are not read."
                await record.append([Notice(kind="missing", message=words)])

    async def _make(self, reference: Reference, record: Transcript, stop: Stop) -> None:
        try:
            about = await patiently(lambda: self._found(reference))
            turn = self._turns.setdefault(about, asyncio.Lock())
            while turn.locked():
                if await stop.sleep(LOOK_SECONDS):
                    return
            async with turn:  # two runs that want the same have it made once
                await self._made(reference, about, record, stop)
        except UsageError as error:  # such as a title that is not there, a missing key, or an empty purse
            await record.append([Notice(kind="missing", message=str(error))])

    async def _found(self, reference: Reference) -> str:
        """Find the discussion that is meant: the newest of this title, and not the one that refers to it."""
        claim, title = reference.claim, same(reference.title)
        found = await self._recaps.titled(claim.tenant, lambda one: same(one) == title)
        others = [id for id in found if id != claim.discussion]
        if others:
            return others[0]
        which = "is this discussion itself" if found else "is the title of no discussion"
        raise NotFound(f'@"{reference.title}" {which}: the words stay as they are.')

    async def _made(self, reference: Reference, about: str, record: Transcript, stop: Stop) -> None:
        now = await patiently(lambda: self._recaps.heard(about))
        known = await patiently(lambda: self._recaps.newest(reference.claim.tenant, about))
        if known is not None and known.still_covers(now):
            await record.keep(_told(reference, known))
            return
        if (account := reference.claim.account) is not None:
            await patiently(lambda: self._budgets.refuse_if_spent(account))
        words = f'Reading "{reference.title}", which the message refers to.'
        await record.append([Notice(kind="recap", message=words)])
        said = await patiently(lambda: self._discussions.messages(about, hidden=False))
        heard = [one for one in said if one.audience is None]
        answer = await self._asked(reference.claim, heard, stop)
        charge = Charge(purpose="recap", model=answer.model, usage=answer.usage, cost=answer.cost)
        if answer.value is None:
            why = answer.fault.message if answer.fault else "It was stopped, or took too long."
            words = f'There is no summary of "{reference.title}". {why}'
            await record.keep(Notice(kind="missing", message=words, charge=charge), charges=[charge])
            return
        new = _recap(about, answer, answer.value, now)
        await patiently(lambda: self._recaps.keep(reference.payer, new, charge))
        await record.keep(_told(reference, new, answer), charges=[charge])

    async def _asked(self, claim: Claim, heard: Sequence[Message], stop: Stop) -> Shaped[Points]:
        model = claim.plan.clerk or claim.plan.participants[0].model
        chain = await patiently(lambda: self._chains(claim.tenant, model))
        material = transcript(heard, await asyncio.to_thread(room, chain))
        patience = Stop(stop)
        late = asyncio.get_running_loop().call_later(SECONDS, patience.request, "late")
        try:
            return await structured(self._speaker, chain, recapping(material.text), Points, stop=patience)
        finally:
            late.cancel()


async def given(
    database: Database, tenant: str, said: Sequence[Message], *, only_text: bool = False
) -> Attached:
    """Load all that is handed on with messages: recaps of what they refer to, and the files that came with them."""
    recaps = await recapped(database, tenant, said)
    files = await attached(Files(database), tenant, said, only_text=only_text)
    return {id: (*recaps.get(id, ()), *files.get(id, ())) for id in {**recaps, **files}}


async def recapped(database: Database, tenant: str, said: Sequence[Message]) -> Attached:
    """Load the recaps that were handed on with messages, by the message that refers to them."""
    runs = {one.run for one in said if one.run and _may_refer(one) and references(one.content)}
    if not runs:
        return {}
    found = [one for one in await told_in(database, runs, Recapped) if isinstance(one, Recapped)]
    recaps = await Recaps(database).several(tenant, [one.recap for one in found])
    known = {(one.message, same(one.title)): recaps[one.recap] for one in found if one.recap in recaps}
    return {
        one.id: tuple(
            Enclosed(recap_part(title, known[one.id, same(title)].points), "recap", title)
            for title in references(one.content)
            if (one.id, same(title)) in known
        )
        for one in said
    }


def _may_refer(message: Message) -> bool:
    return message.role == "user" and message.participant is None and not message.hidden


def _recap(about: str, answer: Shaped[Points], value: Points, covers: int) -> Recap:
    return Recap(
        id=new_id("recap"),
        discussion=about,
        points=value.points,
        messages=covers,
        model=answer.model,
        created_at=time.time(),
    )


def _told(reference: Reference, recap: Recap, answer: Shaped[Points] | None = None) -> Recapped:
    return Recapped(
        basis=reference.basis,
        model=recap.model,
        usage=answer.usage if answer else Usage(),
        cost=answer.cost if answer else 0.0,
        message=reference.message,
        title=reference.title,
        discussion=recap.discussion,
        recap=recap.id,
    )
