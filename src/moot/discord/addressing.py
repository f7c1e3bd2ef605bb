"""Decides whom a Discord message addresses, and who continues a chain of replies."""

import logging
import re
from collections.abc import Sequence

from moot.discord.dependencies import DiscordDeps
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.participants import Participant

MAX_RESPONDERS = 3
STOP_PHRASES = frozenset({"stop", "wait", "enough", "nevermind", "never mind"})
EDGE_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")


def find_named_participants(text: str, participants: Sequence[Participant]) -> tuple[str, ...]:
    """Return the ids of those who are named, in the order of their first naming, and no more than may answer."""
    ids = {who.name.casefold(): who.id for who in participants}
    if not ids:
        return ()
    longest_first = sorted(ids, key=len, reverse=True)  # Alpha 2 is not Alpha
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    found = (ids[match[0]] for match in name.finditer(text.casefold()))
    return tuple(dict.fromkeys(found))[:MAX_RESPONDERS]


def is_stop_request(text: str) -> bool:
    return " ".join(EDGE_PUNCTUATION.sub("", text).casefold().split()) in STOP_PHRASES


MAX_CHAINED_TURNS = 3

log = logging.getLogger(__name__)


async def continue_with_named_participant(deps: DiscordDeps, run: Run) -> None:
    """Let the next one speak after a run in which some were called upon, if there is to be a next one."""
    following = await _next_participant_id(deps, run)
    if following is not None:
        try:
            key = f"discord/after/{run.id}"
            await deps.discussion_service.continue_(deps.caller, run.discussion, 1, key, following)
        except MootError as error:
            log.info("nobody goes on", extra={"run": run.id, "reason": str(error)})


async def _next_participant_id(deps: DiscordDeps, run: Run) -> str | None:
    runs = await deps.runs.list_runs(deps.caller.tenant, run.discussion)
    if not runs or runs[-1].id != run.id or runs[-1].status != "completed":
        return None
    chained = next((at for at, one in enumerate(reversed(runs)) if one.mode != "continue"), MAX_CHAINED_TURNS)
    if chained >= MAX_CHAINED_TURNS:
        return None
    plan = await deps.runs.get_plan(runs[-1 - chained].id)
    said = [one for one in await deps.discussions.run_messages(run.id) if one.participant and one.content]
    if plan.answering is None or not said:
        return None
    others = [who for who in plan.participants if who.id != said[-1].participant]
    return next(iter(find_named_participants(said[-1].content, others)), None)
