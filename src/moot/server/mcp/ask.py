"""Asking over MCP: a discussion is opened, or gone on with, and whoever waits hears how it goes and what comes of it."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing, contextmanager
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from moot.engine.events.hub import Feeds, event_of
from moot.server.auth import Revocations
from moot.server.draft_validation import Drafts
from moot.server.mcp.report import Report, Said, written
from moot.server.rate_limits import RateLimits
from moot.server.schemas import Cap, DiscussionDraft, Id, Words, said
from moot.services.discussions import Hall, Saying, Started
from moot.store.discussions.discussions import Discussions
from moot.store.library.presets import LineUps
from moot.store.runs.event_log import Events
from moot.store.runs.runs import Runs
from moot.types.accounts import Caller
from moot.types.errors import NotFound, Refused, UsageError
from moot.types.events import ANSWERED
from moot.types.modes import ModeName
from moot.types.presets import LineUp
from moot.types.primitives import ModelName

TELL_SECONDS = 0.5  # between two looks at what is being said

Tell = Callable[[float, str], Awaitable[None]]


class Question(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who is asked is a line-up, models, or those of a discussion that goes on."""

    question: Annotated[Words, Meta(description="What to ask them.")]
    line_up: Annotated[
        Id | None, Meta(description="The name or the id of a saved line-up; list_line_ups names them.")
    ] = None
    models: Annotated[
        Annotated[list[ModelName], Meta(min_length=1, max_length=24)] | None,
        Meta(description="The models to ask, each as provider/model. One may be named twice."),
    ] = None
    mode: Annotated[
        ModeName | None,
        Meta(
            description="How they speak: single, parallel (each for itself), consensus (in turn, hearing each "
            "other), debate (alone, then having read the others, and one sums up), advisors, directed. Left out, it "
            "is that of the line-up, or single for one model and parallel for several."
        ),
    ] = None
    discussion: Annotated[
        Id | None, Meta(description="The id of a discussion to go on with, instead of a new one.")
    ] = None
    cap: Annotated[
        Cap | None, Meta(description="Begin nothing more once it has cost so many US dollars.")
    ] = None


class Answered(Struct, frozen=True, kw_only=True):
    """What came of a question, and where it can be read and gone on with."""

    discussion: str
    run: str
    status: str
    answers: tuple[Said, ...]

    @property
    def text(self) -> str:
        return f"{written(self.answers)}\n\nDiscussion {self.discussion}: {self.status}."

    @property
    def failed(self) -> bool:
        return not any(one.status in ANSWERED or one.text for one in self.answers)


class Asking:
    def __init__(
        self,
        hall: Hall,
        drafts: Drafts,
        limits: RateLimits,
        discussions: Discussions,
        line_ups: LineUps,
        events: Events,
        feeds: Feeds,
        runs: Runs,
        revocations: Revocations,
    ) -> None:
        self._hall = hall
        self._drafts = drafts
        self._limits = limits
        self._discussions = discussions
        self._line_ups = line_ups
        self._events = events
        self._feeds = feeds
        self._runs = runs
        self._revocations = revocations
        self._stopping: set[asyncio.Task[None]] = set()

    async def ask(self, caller: Caller, asked: Question, tell: Tell) -> Answered:
        """Return what came of it. Whoever gives up waiting stops the run, unless it is this server that ends."""
        starting = asyncio.create_task(self._started(caller, asked))
        try:
            started = await asyncio.shield(starting)
            return await self._answered(caller, started, tell)
        except asyncio.CancelledError:
            if not self._hall.leaving:
                self._stopping.add(stopping := asyncio.create_task(self._stop(caller, starting)))
                stopping.add_done_callback(self._stopping.discard)
            raise

    async def _started(self, caller: Caller, asked: Question) -> Started:
        words = said(asked.question, "question")
        if sum(value is not None for value in (asked.line_up, asked.models, asked.discussion)) != 1:
            raise UsageError("Say who is asked: name one of line_up, models and discussion.")
        await self._limits.say(caller.account)
        if asked.discussion is not None:
            return await self._gone_on(caller, asked.discussion, asked, words)
        draft = await self._draft(caller, asked)
        with _named_as_sent(asked):
            opening = await self._drafts.opening(caller, draft, draft.participants)
        await self._limits.mode(caller.account, opening.mode)
        return await self._hall.open(caller, opening)

    async def _gone_on(self, caller: Caller, id: str, asked: Question, words: str) -> Started:
        discussion = await self._discussions.get(caller.tenant, id)
        if asked.mode not in {None, discussion.mode}:
            raise UsageError(
                f"mode: this discussion is a {discussion.mode}: leave mode out, or open another."
            )
        await self._limits.mode(caller.account, discussion.mode)
        return await self._hall.say(caller, Saying(discussion=id, message=words, cap=asked.cap))

    async def _draft(self, caller: Caller, asked: Question) -> DiscussionDraft:
        if asked.line_up is None:
            return DiscussionDraft(
                message=asked.question, participants=list(asked.models or ()), mode=asked.mode, cap=asked.cap
            )
        line_up = await self._line_up(caller, asked.line_up)
        sent = msgspec.to_builtins(line_up) | {"message": asked.question, "cap": asked.cap}
        known = {name: sent[name] for name in DiscussionDraft.__struct_fields__ if name in sent}
        return msgspec.convert(known | {"mode": asked.mode or line_up.mode}, DiscussionDraft)

    async def _line_up(self, caller: Caller, wanted: str) -> LineUp:
        """Find a line-up by its id, or the newest of that name."""
        names: list[str] = []
        cursor: str | None = None
        while True:
            page = await self._line_ups.page(caller.tenant, cursor=cursor)
            for one in page.line_ups:
                if one.id == wanted or one.name.casefold() == wanted.casefold():
                    return one
            names += [one.name for one in page.line_ups]
            if (cursor := page.next) is None:
                break
        known = f"There are {', '.join(names[:20])}." if names else "There is none yet: name models instead."
        raise NotFound(f"line_up: nothing is called {wanted!r}. {known}")

    async def _answered(self, caller: Caller, started: Started, tell: Tell) -> Answered:
        """Follow the run to its end, for as long as the caller may."""
        following = asyncio.create_task(self._followed(caller, started.run.id, tell))
        try:
            with self._revocations.watching(caller, following.cancel):
                await asyncio.wait({following})
        finally:
            following.cancel()
        if following.cancelled():
            raise Refused("These credentials ended while the table spoke: make a new token.")
        heard = following.result()
        if heard.status is None:
            raise NotFound("The discussion was deleted while the table spoke.")
        return Answered(
            discussion=started.discussion.id, run=started.run.id, status=heard.status, answers=heard.said
        )

    async def _followed(self, caller: Caller, run: str, tell: Tell) -> Report:
        heard, told_at = Report(), 0.0
        clock = asyncio.get_running_loop().time
        standing = await self._events.standing(caller.tenant, run)
        async with aclosing(self._feeds.follow(run, 0, standing)) as frames:
            async for some in frames:
                for frame in some:
                    if words := heard.hear(event_of(frame)):
                        await tell(heard.characters, words)
                if heard.speaking and clock() - told_at >= TELL_SECONDS:
                    told_at = clock()
                    await tell(heard.characters, heard.speaking)
        return heard

    async def _stop(self, caller: Caller, starting: "asyncio.Task[Started]") -> None:
        """Stop what was started, also where that was not known yet when nobody waited any more."""
        await asyncio.wait({starting})
        if not starting.cancelled() and starting.exception() is None:
            await self._runs.wish_stop(caller.tenant, starting.result().run.id)


@contextmanager
def _named_as_sent(asked: Question) -> Iterator[None]:
    """Let what is wrong with one of `models` be said of that field, and not of the seat that it is given."""
    try:
        yield
    except UsageError as error:
        words = re.sub(r"^participants\[(\d+)\]\.model", r"models[\1]", str(error))
        if asked.models is None or words == str(error):
            raise
        raise UsageError(words) from error
