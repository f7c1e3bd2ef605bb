"""Where discussions are opened and people speak: each message is stored together with the run that it starts."""

import asyncio
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace
from sqlalchemy.ext.asyncio import AsyncConnection

from moot.engine.attachments import Attaching
from moot.prompts.language import detect
from moot.services.billing import Treasury
from moot.services.channel_memory import Remembering
from moot.services.run_plans import Planning
from moot.services.titles import Titles
from moot.store.database import Database
from moot.store.discussions.discussions import (
    Discussions,
    add_discussion,
    add_message,
    hold,
    place_last,
    refuse_if_live,
    take_up,
    tell_change,
)
from moot.store.discussions.files import hold_files
from moot.store.idempotency import earlier_reply, keep_reply
from moot.store.runs.runs import add_run, interrupt
from moot.types.accounts import Caller
from moot.types.billing import Payer
from moot.types.debate import Debate
from moot.types.discussions import Discussion, Message, Run
from moot.types.errors import Leaving
from moot.types.modes import MOST_TURNS, Advisors, Directed
from moot.types.participants import Participant
from moot.types.primitives import new_id
from moot.types.run_plan import Plan

TITLE = 80


class Opening(Struct, frozen=True, kw_only=True):
    """What somebody wants to discuss, with whom, and how; `cap` is what the first answer may cost.

    `answering` are those who answer first, one after the other, while all hear it; None is as the mode says.
    It is said in a `channel`, where its `author` has a name, or in none.
    """

    message: str
    participants: tuple[Participant, ...]
    mode: str
    rounds: int
    title: str | None = None
    persona: str | None = None
    project: str | None = None
    language: str | None = None
    model: str | None = None
    debate: Debate | None = None
    advisors: Advisors | None = None
    directed: Directed | None = None
    clerk: str | None = None
    files: tuple[str, ...] = ()
    answering: tuple[str, ...] | None = None
    cap: float | None = None
    channel: str | None = None
    author: str | None = None


class Saying(Struct, frozen=True, kw_only=True):
    """What somebody says, and to whom; None is everybody. `cap` is what the answer may cost.

    `answering` are those who answer, one after the other, while all hear it; None is as the discussion is set up.
    It is said in a `channel`, where its `author` has a name, or in none.
    """

    discussion: str
    message: str
    to: tuple[str, ...] | None = None
    answering: tuple[str, ...] | None = None
    files: tuple[str, ...] = ()
    cap: float | None = None
    channel: str | None = None
    author: str | None = None


class Started(Struct, frozen=True, kw_only=True):
    """What was stored; the run will answer."""

    discussion: Discussion
    message: Message | None
    run: Run


class Hall:
    """`clerk` is that of every discussion which names no other; None is nobody."""

    def __init__(
        self,
        database: Database,
        planning: Planning,
        worker: str,
        start: Callable[[str], None],
        attaching: Attaching,
        titles: Titles,
        treasury: Treasury,
        remembering: Remembering,
        clerk: str | None = None,
    ) -> None:
        self._database = database
        self._discussions = Discussions(database)
        self._planning = planning
        self._worker = worker
        self._start = start
        self._attaching = attaching
        self._titles = titles
        self._treasury = treasury
        self._remembering = remembering
        self._clerk = clerk
        self._leaving = False

    def leave(self) -> None:
        """Take in nothing new: this process is about to end."""
        self._leaving = True

    @property
    def leaving(self) -> bool:
        return self._leaving

    def refuse_if_leaving(self) -> None:
        if self._leaving:
            raise Leaving("This server is ending: ask again in a moment.")

    async def open(self, caller: Caller, opening: Opening, key: str | None = None) -> Started:
        """Open a discussion with its first message."""
        language = opening.language
        if language is None:
            language = await asyncio.to_thread(detect, opening.message)
        discussion = self.drafted(opening, language)
        plan = _called_upon(await self._planning.plan(caller.tenant, discussion), opening.answering)
        plan = await self._recalled(caller, discussion, plan, opening)
        plan = replace(plan, cap=opening.cap)
        await self._attaching.check(caller.tenant, opening.files, plan)
        started = _started(discussion, plan, opening.message, opening.files)
        taken = await self._take_in(caller, started, plan, key, opening, new=True)
        is_new = taken.run.id == started.run.id  # and was not taken in before, with the same key
        if is_new and opening.title is None:
            self._titles.want(_payer(caller, taken), discussion, opening.message)
        return taken

    async def say(self, caller: Caller, saying: Saying, key: str | None = None) -> Started:
        """Say something in a discussion; what is still being said in it comes to an end."""
        discussion = await self._discussions.get(caller.tenant, saying.discussion)
        plan = await self._planning.plan(caller.tenant, discussion, to=saying.to)
        plan = await self._recalled(caller, discussion, _called_upon(plan, saying.answering), saying)
        plan = replace(plan, cap=saying.cap)
        await self._attaching.check(caller.tenant, saying.files, plan)
        started = _started(_taken_up(discussion), plan, saying.message, saying.files)
        return await self._take_in(caller, started, plan, key, saying)

    async def go_on(
        self, caller: Caller, id: str, turns: int, key: str | None = None, first: str | None = None
    ) -> Started:
        """Let the table go on by itself, beginning with a participant, or the one after the last speaker."""
        discussion = await self._discussions.get(caller.tenant, id)
        said = await self._discussions.messages(id, limit=len(discussion.participants) + 1)
        plan = await self._planning.plan(caller.tenant, discussion)
        plan = await self._recalled(caller, discussion, _going_on(plan, turns, said, first))
        started = _started(_taken_up(discussion), plan, None)
        return await self._take_in(caller, started, plan, key, (id, turns, *([first] if first else ())))

    async def again(
        self, caller: Caller, id: str, plan: Plan, key: str | None = None, request: object = None
    ) -> Started:
        """Let an answer be given anew, as planned, unless the table is speaking."""
        discussion = await self._discussions.get(caller.tenant, id)
        return await self._take_in(caller, _started(_taken_up(discussion), plan, None), plan, key, request)

    async def _recalled(
        self, caller: Caller, discussion: Discussion, plan: Plan, by: Opening | Saying | None = None
    ) -> Plan:
        """Let the table know what was said in its channel before, if it has one."""
        where, who = (by.channel, by.author) if by else (None, None)
        return await self._remembering.recall(caller.tenant, discussion.id, plan, where, who)

    def drafted(self, opening: Opening, language: str) -> Discussion:
        """Make the discussion that somebody wants, which is stored nowhere yet."""
        return _discussion(opening, language, opening.clerk or self._clerk)

    async def _take_in(
        self,
        caller: Caller,
        started: Started,
        plan: Plan,
        key: str | None,
        request: object,
        *,
        new: bool = False,
    ) -> Started:
        """Store all of it or nothing, then let the run begin."""
        self.refuse_if_leaving()
        due = await self._treasury.due(caller, plan, started.message, None if new else started.discussion.id)
        async with self._database.write() as connection:
            if key is not None:
                earlier = await earlier_reply(
                    self._database, connection, caller.tenant, key, request, Started
                )
                if earlier is not None:
                    return earlier
            id = started.discussion.id
            if new:
                await add_discussion(connection, caller.tenant, caller.account, started.discussion)
            else:
                await self._take_up(connection, started)
            payer = Payer(tenant=caller.tenant, account=caller.account)
            await add_run(connection, payer, started.run, plan, self._worker)
            await self._treasury.reserve(connection, caller, started.run.id, due)
            if started.message is not None:
                await hold_files(connection, caller.tenant, started.message.files or ())
                number = await add_message(connection, caller.tenant, started.message)
                started = replace(started, message=replace(started.message, number=number))
            else:
                await place_last(connection, started.run.id)
            await tell_change(self._database, connection, caller.tenant, id)
            if key is not None:
                await keep_reply(connection, caller.tenant, key, started)
        self._start(started.run.id)
        return started

    async def _take_up(self, connection: AsyncConnection, started: Started) -> None:
        """Make room for a run: those that are still going on end if somebody spoke, and else they are not disturbed."""
        discussion = started.discussion
        await hold(connection, [discussion.id])
        if started.message is None:
            await refuse_if_live(connection, discussion.id)
        else:
            await interrupt(self._database, connection, discussion.id)
        await take_up(connection, discussion.id, discussion.updated_at)


def _discussion(opening: Opening, language: str, clerk: str | None) -> Discussion:
    now = time.time()
    return Discussion(
        id=new_id("dis"),
        title=opening.title or _title(opening.message),
        status="active",
        mode=opening.mode,
        participants=opening.participants,
        rounds=opening.rounds,
        persona=opening.persona,
        project=opening.project,
        language=language,
        model=opening.model,
        debate=opening.debate,
        advisors=opening.advisors,
        directed=opening.directed,
        clerk=clerk,
        summary=None,
        usefulness=None,
        exported_at=None,
        created_at=now,
        updated_at=now,
    )


def _taken_up(discussion: Discussion) -> Discussion:
    return replace(discussion, status="active", updated_at=time.time())


def _payer(caller: Caller, started: Started) -> Payer:
    return Payer(
        tenant=caller.tenant, account=caller.account, discussion=started.discussion.id, run=started.run.id
    )


def _started(discussion: Discussion, plan: Plan, words: str | None, files: tuple[str, ...] = ()) -> Started:
    now = time.time()
    run = new_id("run")
    message = None
    if words is not None:
        message = Message(
            id=new_id("msg"),
            discussion=discussion.id,
            run=run,
            role="user",
            content=words,
            audience=plan.to,
            files=tuple(dict.fromkeys(files)) or None,
            created_at=now,
        )
    return Started(
        discussion=discussion,
        message=message,
        run=Run(
            id=run,
            discussion=discussion.id,
            message=message.id if message else None,
            mode=plan.mode,
            status="waiting",
            created_at=now,
            again=plan.again.answer if plan.again else None,
        ),
    )


def _title(words: str) -> str:
    """Take the first line as a title, cut at a word."""
    line = next(line.strip() for line in words.splitlines() if line.strip())
    return line if len(line) <= TITLE else f"{line[:TITLE].rsplit(' ', 1)[0]}…"


def _called_upon(plan: Plan, answering: tuple[str, ...] | None) -> Plan:
    """Let some answer in turn, each having heard those before, whatever the mode is."""
    return plan if answering is None else replace(plan, mode="consensus", rounds=1, answering=answering)


def _going_on(plan: Plan, turns: int, said: tuple[Message, ...], first: str | None) -> Plan:
    """Let a lesson go on as a lesson, and any other table one after the other."""
    if plan.mode == "directed" and first is None:
        return replace(plan, directed=replace(plan.directed, turns=min(turns, MOST_TURNS)))
    places = [who.id for who in plan.speaking]
    place = places.index(first) if first in places else _after_the_last(plan, said)
    return replace(plan, mode="continue", participants=plan.speaking, turns=turns, first=place)


def _after_the_last(plan: Plan, said: tuple[Message, ...]) -> int:
    """Find the place of the participant after the one who spoke last."""
    places = {who.id: place for place, who in enumerate(plan.speaking)}
    last = next((places[m.participant] for m in reversed(said) if m.participant in places), -1)
    return (last + 1) % len(places)
