"""Title generator: the task model names new discussions in the background.

A failure is only logged, and the first line of the message stays the title.
"""

import asyncio
import logging
import re
from collections.abc import Sequence

from moot.engine.model_resolution import ResolveModel
from moot.prompts.library import load_template
from moot.prompts.tokens import one_line, truncate_text
from moot.providers.registry import ResolvedModel
from moot.services.model_tasks import ModelTasks
from moot.store.database import Database, retry_while_unavailable
from moot.store.discussions.discussions import notify_discussion_change, replace_title
from moot.store.rate_limits import RateLimiter
from moot.streaming.cancellation import StopSignal, stop_tasks
from moot.types.billing import Payer
from moot.types.discussions import Discussion
from moot.types.errors import MootError
from moot.types.events import TurnEnded
from moot.types.requests import ModelRequest, user_message

MAX_TITLE_CHARS = 80
MAX_TITLE_WORDS = 12  # a longer answer is not a title, and is rejected
MAX_MESSAGE_CHARS = 4000  # of the message, in the request
TITLE_TIMEOUT_SECONDS = 60.0
MAX_WAITING = 50  # tasks in this process
TITLES_PER_MINUTE = 20  # per account

# Quotation marks (straight, curly, French, Japanese) and Markdown emphasis.
QUOTE_MARKS = re.compile('["\u201c-\u201f\u00ab\u00bb\u300c\u300d*`]')
EDGE_CHARS = " '_\u2018\u2019\u201a\u2039\u203a"  # removed only at the ends, because they also occur inside words
TITLE_PREFIX = re.compile(r"^[\s#]*(?:title\s*:)?", re.IGNORECASE)

log = logging.getLogger(__name__)


class TitleGenerator:
    def __init__(
        self, database: Database, resolve_model: ResolveModel, model_tasks: ModelTasks, rate_limiter: RateLimiter
    ) -> None:
        self._database = database
        self._resolve_model = resolve_model
        self._model_tasks = model_tasks
        self._rate_limiter = rate_limiter
        self._tasks: dict[asyncio.Task[None], StopSignal] = {}

    def request_title(self, payer: Payer, discussion: Discussion, message: str) -> None:
        """Start a background task. Does nothing without a task model, or if the queue is full."""
        if discussion.task_model is None:
            return
        if len(self._tasks) >= MAX_WAITING:
            _log_title_unchanged(discussion, "the queue is full")
            return
        stop = StopSignal()
        task = asyncio.create_task(self._generate_title(payer, discussion, discussion.task_model, message, stop))
        self._tasks[task] = stop
        task.add_done_callback(self._on_task_done)

    async def close(self) -> None:
        """Stop all tasks. A stop, not a cancellation, so that their charges are recorded."""
        await stop_tasks(self._tasks)

    async def _generate_title(
        self, payer: Payer, discussion: Discussion, task_model: str, message: str, stop: StopSignal
    ) -> None:
        try:
            if await self._rate_limiter.try_acquire(f"title/{payer.account}", TITLES_PER_MINUTE) is not None:
                _log_title_unchanged(discussion, "too many titles per minute")
                return
            ended = await self._ask_model(payer, await self._resolve_model(payer.tenant, task_model), message, stop)
            title = clean_title(ended.message.text) if ended.status == "completed" else ""
            if title:
                await self._store_title(payer.tenant, discussion, title)
            else:
                reason = ended.fault.message if ended.fault else f"the answer was {ended.status}"
                _log_title_unchanged(discussion, reason)
        except MootError as error:  # e.g. a missing key, or the database is unavailable
            _log_title_unchanged(discussion, str(error))

    async def _ask_model(
        self, payer: Payer, chain: Sequence[ResolvedModel], message: str, stop: StopSignal
    ) -> TurnEnded:
        request = ModelRequest(
            model="", system=load_template("title"), messages=(user_message(truncate_text(message, MAX_MESSAGE_CHARS)),)
        )
        timeout = asyncio.get_running_loop().call_later(TITLE_TIMEOUT_SECONDS, stop.request_stop)
        try:
            return await self._model_tasks.run_text_task(payer, "title", chain, request, stop)
        finally:
            timeout.cancel()

    @retry_while_unavailable
    async def _store_title(self, tenant: str, discussion: Discussion, title: str) -> None:
        """Keep a title that a user changed meanwhile."""
        async with self._database.write() as connection:
            if await replace_title(connection, tenant, discussion.id, title, expected_title=discussion.title):
                await notify_discussion_change(self._database, connection, tenant, discussion.id)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("title task failed", exc_info=error)


def clean_title(answer: str) -> str:
    """Return the first line without quotes, markup and prefix; an empty string if it is not a title."""
    for line in answer.splitlines():
        printable = "".join(char if char.isprintable() else " " for char in QUOTE_MARKS.sub("", line))
        bare = TITLE_PREFIX.sub("", printable).strip(EDGE_CHARS).rstrip(".:")
        if title := one_line(bare, MAX_TITLE_CHARS):
            return title if len(title.split()) <= MAX_TITLE_WORDS else ""
    return ""


def _log_title_unchanged(discussion: Discussion, reason: str) -> None:
    log.warning("title not generated", extra={"discussion": discussion.id, "reason": reason})
