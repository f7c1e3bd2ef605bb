"""Titles that a clerk finds for discussions that were opened without one, while the table is already speaking.

Nothing depends on them: whatever fails, the first words of the message stay the title.
"""

import asyncio
import logging
import re
from collections.abc import Sequence

from moot.engine.model_resolution import Chains
from moot.engine.waits import patiently
from moot.prompts.templates import written
from moot.prompts.tokens import cut, one_line
from moot.providers.registry import Resolved
from moot.services.model_tasks import Errands
from moot.store.database import Database
from moot.store.discussions.discussions import give_title, tell_change
from moot.store.rate_limits import Rates
from moot.streaming.cancellation import Stop, stopped
from moot.types.billing import Payer
from moot.types.discussions import Discussion
from moot.types.errors import MootError
from moot.types.events import TurnEnded
from moot.types.requests import ModelRequest, user

LONGEST = 80  # characters of a title
MOST_WORDS = 12  # whoever says more did not understand what a title is
WORDS = 4000  # characters of the message that a clerk reads
SECONDS = 60.0
MOST_WAITING = 50
TITLES_A_MINUTE = 20  # for an account

# Quotation marks (straight, curly, French, Japanese) and what markdown marks words with.
QUOTES = re.compile('["\u201c-\u201f\u00ab\u00bb\u300c\u300d*`]')
AROUND = " '_\u2018\u2019\u201a\u2039\u203a"  # those that may stand inside of words
BEFORE = re.compile(r"^[\s#]*(?:title\s*:)?", re.IGNORECASE)

log = logging.getLogger(__name__)


class Titles:
    def __init__(self, database: Database, chains: Chains, errands: Errands, rates: Rates) -> None:
        self._database = database
        self._chains = chains
        self._errands = errands
        self._rates = rates
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
        await stopped(self._waiting)

    async def _find(self, payer: Payer, discussion: Discussion, clerk: str, words: str, stop: Stop) -> None:
        try:
            if await self._rates.take(f"title/{payer.account}", TITLES_A_MINUTE) is not None:
                _stays(discussion, "these are too many titles within a minute")
                return
            ended = await self._asked(payer, await self._chains(payer.tenant, clerk), words, stop)
            title = cleaned(ended.message.text) if ended.status == "completed" else ""
            if title:
                await patiently(lambda: self._give(payer.tenant, discussion, title))
            else:
                why = ended.fault.message if ended.fault else f"what the clerk said was {ended.status}"
                _stays(discussion, why)
        except MootError as error:  # such as a key that is missing, or a database that is away
            _stays(discussion, str(error))

    async def _asked(self, payer: Payer, chain: Sequence[Resolved], words: str, stop: Stop) -> TurnEnded:
        request = ModelRequest(model="", system=written("title"), messages=(user(cut(words, WORDS)),))
        late = asyncio.get_running_loop().call_later(SECONDS, stop.request)
        try:
            return await self._errands.say(payer, "title", chain, request, stop)
        finally:
            late.cancel()

    async def _give(self, tenant: str, discussion: Discussion, title: str) -> None:
        """Give a discussion its title, unless somebody gave it another meanwhile."""
        async with self._database.write() as connection:
            if await give_title(connection, tenant, discussion.id, title, instead_of=discussion.title):
                await tell_change(self._database, connection, tenant, discussion.id)

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
            return title if len(title.split()) <= MOST_WORDS else ""
    return ""


def _stays(discussion: Discussion, why: str) -> None:
    log.warning("the first words stay the title", extra={"discussion": discussion.id, "reason": why})
