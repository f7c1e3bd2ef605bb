"""Titles that a clerk finds for discussions that were opened without one, while the table is already speaking.

Nothing depends on them: whatever fails, the first words of the message stay the title.
"""

import asyncio
import logging
import re
from collections.abc import Sequence

from moot.context.fitting import cut, one_line
from moot.context.prompts import written
from moot.engine import metrics
from moot.engine.casting import Chains
from moot.engine.patience import patiently
from moot.engine.speaker import Speaker
from moot.model.discussions import Discussion
from moot.model.errors import MootError
from moot.model.events import Event, Seat, TurnEnded
from moot.model.money import Charge, Payer
from moot.model.requests import ModelRequest, user
from moot.providers.registry import Resolved
from moot.store.budgets import Budgets
from moot.store.charges import add_charges
from moot.store.database import Database
from moot.store.discussions import give_title, tell_change
from moot.store.rates import Rates
from moot.streams.stop import Stop

LONGEST = 80  # characters of a title
WORDS = 4000  # characters of the message that a clerk reads
SECONDS = 60.0
MOST_WAITING = 50
TITLES_A_MINUTE = 20  # for an account
ENDING_SECONDS = 1.0

# Quotation marks (straight, curly, French, Japanese) and what markdown marks words with.
QUOTES = re.compile('["\u201c-\u201f\u00ab\u00bb\u300c\u300d*`]')
AROUND = " '_\u2018\u2019\u201a\u2039\u203a"  # those that may stand inside of words
BEFORE = re.compile(r"^[\s#]*(?:title\s*:)?", re.IGNORECASE)

log = logging.getLogger(__name__)


class Titles:
    """`clerk` is that of every discussion which names no other; None is nobody."""

    def __init__(
        self,
        database: Database,
        chains: Chains,
        speaker: Speaker,
        rates: Rates,
        budgets: Budgets,
        clerk: str | None = None,
    ) -> None:
        self.clerk = clerk
        self._database = database
        self._chains = chains
        self._speaker = speaker
        self._rates = rates
        self._budgets = budgets
        self._waiting: dict[asyncio.Task[None], Stop] = {}

    def want(self, payer: Payer, discussion: Discussion, words: str) -> None:
        """Let a title be found for a discussion that begins with some words; nobody waits for it."""
        if discussion.clerk is None:
            return
        if len(self._waiting) >= MOST_WAITING:
            _stays(discussion, "too many titles are being found already")
            return
        stop = Stop()
        task = asyncio.create_task(self._find(payer, discussion, discussion.clerk, words, stop))
        self._waiting[task] = stop
        task.add_done_callback(self._disown)

    async def close(self) -> None:
        """End what goes on: a clerk that is speaking is stopped, so that its words are still paid for."""
        tasks = tuple(self._waiting)
        for stop in self._waiting.values():
            stop.request()
        if tasks:
            await asyncio.wait(tasks, timeout=ENDING_SECONDS)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _find(self, payer: Payer, discussion: Discussion, clerk: str, words: str, stop: Stop) -> None:
        try:
            if await self._rates.take(f"title/{payer.account}", TITLES_A_MINUTE) is not None:
                _stays(discussion, "these are too many titles within a minute")
                return
            if payer.account is not None:
                await self._budgets.refuse_if_spent(payer.account)
            ended = await self._asked(await self._chains(payer.tenant, clerk), words, stop)
            await patiently(lambda: self._keep(payer, discussion, ended))  # because it is paid
        except MootError as error:  # such as a key that is missing, or a database that is away
            _stays(discussion, str(error))

    async def _asked(self, chain: Sequence[Resolved], words: str, stop: Stop) -> TurnEnded:
        async def unheard(_: list[Event]) -> None:
            """Nobody watches this being written."""

        request = ModelRequest(model="", system=written("title"), messages=(user(cut(words, WORDS)),))
        late = asyncio.get_running_loop().call_later(SECONDS, stop.request)
        try:
            ended = await self._speaker.speak(Seat("clerk", "title"), chain, request, stop, unheard)
        finally:
            late.cancel()
        metrics.count_turn(ended)
        return ended

    async def _keep(self, payer: Payer, discussion: Discussion, ended: TurnEnded) -> None:
        """Keep what it cost, whatever came of it, and the title if it is one and nobody gave another meanwhile."""
        title = cleaned(ended.message.text) if ended.status == "completed" else ""
        async with self._database.write() as connection:
            paid = Charge(purpose="title", model=ended.model, usage=ended.usage, cost=ended.cost)
            await add_charges(connection, payer, [paid])
            if title and await give_title(
                connection, payer.tenant, discussion.id, title, instead_of=discussion.title
            ):
                await tell_change(self._database, connection, payer.tenant, discussion.id)
        if not title:
            why = ended.fault.message if ended.fault else f"what the clerk said was {ended.status}"
            _stays(discussion, why)

    def _disown(self, task: asyncio.Task[None]) -> None:
        del self._waiting[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a mistake of ours left a discussion without a title", exc_info=error)


def cleaned(answer: str) -> str:
    """Make a title of what a clerk said: its first line, without what stands around it; nothing if there is none."""
    for line in answer.splitlines():
        seen = "".join(char if char.isprintable() else " " for char in QUOTES.sub("", line))
        bare = BEFORE.sub("", seen).strip(AROUND).rstrip(".:")
        if title := one_line(bare, LONGEST):
            return title
    return ""


def _stays(discussion: Discussion, why: str) -> None:
    log.warning("the first words stay the title", extra={"discussion": discussion.id, "reason": why})
