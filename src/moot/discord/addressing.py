"""Decides whom a Discord message addresses, and who continues a chain of replies."""

import logging
import re
from collections.abc import Sequence

from moot.discord.dependencies import Premises
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.participants import Participant

MOST_ANSWERS = 3
STOPS = frozenset({"stop", "wait", "enough", "nevermind", "never mind"})
FRINGE = re.compile(r"^[\W_]+|[\W_]+$")


def named(text: str, participants: Sequence[Participant]) -> tuple[str, ...]:
    """Return the ids of those who are named, in the order of their first naming, and no more than may answer."""
    ids = {who.name.casefold(): who.id for who in participants}
    if not ids:
        return ()
    longest_first = sorted(ids, key=len, reverse=True)  # Alpha 2 is not Alpha
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    found = (ids[match[0]] for match in name.finditer(text.casefold()))
    return tuple(dict.fromkeys(found))[:MOST_ANSWERS]


def is_stop(text: str) -> bool:
    return " ".join(FRINGE.sub("", text).casefold().split()) in STOPS


MOST_TURNS = 3

log = logging.getLogger(__name__)


async def go_on_with_who_was_named(premises: Premises, run: Run) -> None:
    """Let the next one speak after a run in which some were called upon, if there is to be a next one."""
    following = await _following(premises, run)
    if following is not None:
        try:
            key = f"discord/after/{run.id}"
            await premises.hall.go_on(premises.caller, run.discussion, 1, key, following)
        except MootError as error:
            log.info("nobody goes on", extra={"run": run.id, "reason": str(error)})


async def _following(premises: Premises, run: Run) -> str | None:
    runs = await premises.runs.of(premises.caller.tenant, run.discussion)
    if not runs or runs[-1].id != run.id or runs[-1].status != "completed":
        return None
    chained = next((at for at, one in enumerate(reversed(runs)) if one.mode != "continue"), MOST_TURNS)
    if chained >= MOST_TURNS:
        return None
    plan = await premises.runs.plan(runs[-1 - chained].id)
    said = [one for one in await premises.discussions.of_run(run.id) if one.participant and one.content]
    if plan.answering is None or not said:
        return None
    others = [who for who in plan.participants if who.id != said[-1].participant]
    return next(iter(named(said[-1].content, others)), None)
