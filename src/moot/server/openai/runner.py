"""Executes a chat completion in memory or in a stored discussion."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from msgspec import Struct
from msgspec.structs import replace

from moot.engine.events.hub import Feeds, event_of
from moot.engine.model_resolution import Casting
from moot.engine.runs.ephemeral import Sitting, Sittings, check_files
from moot.providers.registry import Resolved
from moot.server.openai.request import Exchange, exchange, refuse_unsupported, settled
from moot.server.openai.schemas import Asked
from moot.server.openai.virtual_models import Tables
from moot.server.rate_limits import RateLimits
from moot.services.billing import Purses
from moot.services.discussions import Hall, Saying
from moot.store.billing.budgets import Budgets
from moot.store.discussions.discussions import Discussions
from moot.store.discussions.files import Files
from moot.store.runs.event_log import Events
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.errors import UsageError, wanted_by
from moot.types.events import Event, RunEnded
from moot.types.modes import Advisors
from moot.types.primitives import new_id
from moot.types.requests import File
from moot.types.run_plan import Plan


class Hearing:
    def __init__(self, feeds: Feeds, events: Events, runs: Runs) -> None:
        self._feeds = feeds
        self._events = events
        self._runs = runs

    async def of(self, caller: Caller, run: str) -> AsyncGenerator[list[Event], None]:
        """Yield the events of a run from the first on; an empty list is: still here."""
        is_over = False
        try:
            standing = await self._events.standing(caller.tenant, run)
            async with aclosing(self._feeds.follow(run, 0, standing)) as frames:
                async for some in frames:
                    events = [event_of(frame) for frame in some]
                    is_over = any(isinstance(event, RunEnded) for event in events)
                    yield events
        finally:
            if not is_over:
                await self._runs.wish_stop(caller.tenant, run)


LONGEST = 10_000  # characters that are said in a discussion at once


class Underway(Struct, frozen=True):
    """A run that begins when its events are read."""

    id: str
    plan: Plan
    events: AsyncGenerator[list[Event], None]


class Speaking:
    def __init__(
        self,
        tables: Tables,
        casting: Casting,
        sittings: Sittings,
        purses: Purses,
        budgets: Budgets,
        hall: Hall,
        discussions: Discussions,
        files: Files,
        hearing: Hearing,
    ) -> None:
        self._tables = tables
        self._casting = casting
        self._sittings = sittings
        self._purses = purses
        self._budgets = budgets
        self._hall = hall
        self._discussions = discussions
        self._files = files
        self._hearing = hearing

    async def begin(self, caller: Caller, asked: Asked, limits: RateLimits, key: str | None) -> Underway:
        self._hall.refuse_if_leaving()
        refuse_unsupported(asked)
        if asked.place is not None:
            return await self._say(caller, asked, asked.place, limits, key)
        plan = await self._tables.plan(caller, asked.model)
        put = await _parted(asked, plan)
        plan = _told(asked, plan, put.system)
        chains = await self._chains(caller, plan)
        if put.files:
            try:
                await asyncio.to_thread(check_files, plan, chains, put.files)
            except UsageError as error:
                raise UsageError(f"messages: {error}") from error
        await self._budgets.refuse_if_spent(caller.account)
        await limits.say(caller.account)
        await limits.mode(caller.account, plan.mode)
        sitting = Sitting(
            plan=plan, question=put.question, chains=chains, earlier=put.earlier, attached=put.attached
        )
        return Underway(new_id("chatcmpl"), plan, self._sittings.hold(sitting, self._purses.of(caller)))

    async def _say(
        self, caller: Caller, asked: Asked, place: str, limits: RateLimits, key: str | None
    ) -> Underway:
        """Say the last message in a discussion: what was said before is known there."""
        with wanted_by("discussion"):
            discussion = await self._discussions.get(caller.tenant, place)
        plan = Plan(
            mode=discussion.mode,
            participants=discussion.participants,
            rounds=discussion.rounds,
            advisors=discussion.advisors or Advisors(),
        )
        put = await _parted(asked, plan)
        if len(put.words) > LONGEST:
            raise UsageError(f"messages: in a discussion a message has at most {LONGEST:,} characters.")
        if put.question_files and key is not None:
            raise UsageError("messages: files cannot be sent to a discussion with an Idempotency-Key.")
        await limits.say(caller.account)
        await limits.mode(caller.account, plan.mode)
        files = tuple([await self._kept(caller, file) for file in put.question_files])
        saying = Saying(discussion=place, message=put.words, files=files)
        started = await self._hall.say(caller, saying, key)
        return Underway(started.run.id, plan, self._hearing.of(caller, started.run.id))

    async def _kept(self, caller: Caller, file: File) -> str:
        sha256 = hashlib.sha256(file.data).hexdigest()
        kept = await self._files.add(
            caller.tenant, caller.account, file.name, file.media_type, sha256, file.data
        )
        return kept.id

    async def _chains(self, caller: Caller, plan: Plan) -> Mapping[str, Sequence[Resolved]]:
        models = {who.model for who in plan.participants}
        found = {model: await self._casting.models(caller.tenant, model) for model in models}
        return {who.id: found[who.model] for who in plan.participants}


async def _parted(asked: Asked, plan: Plan) -> Exchange:
    """Read what was sent; files take a moment."""
    if all(isinstance(one.content, str) for one in asked.messages):
        return exchange(asked, plan.participants)
    return await asyncio.to_thread(exchange, asked, plan.participants)


def _told(asked: Asked, plan: Plan, system: str) -> Plan:
    """Let everybody be asked as the request says, and know its instructions after who they are."""
    participants = tuple(settled(asked, who) for who in plan.participants)
    if not system:
        return replace(plan, participants=participants)
    parts = {who.id: "\n\n".join(filter(None, (plan.personas.get(who.id), system))) for who in participants}
    return replace(plan, participants=participants, personas=parts)
