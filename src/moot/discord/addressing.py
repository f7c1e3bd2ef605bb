"""Parser for the participants named in a Discord message, and the reply chain that follows from it."""

import logging
import re
from collections.abc import Sequence

from moot.discord.dependencies import DiscordDeps
from moot.types.discussions import Run
from moot.types.errors import MootError
from moot.types.modes import MODE_NAMES
from moot.types.participants import Participant

MAX_RESPONDERS = 3
STOP_PHRASES = frozenset({"stop", "wait", "enough", "nevermind", "never mind"})
EDGE_PUNCTUATION = re.compile(r"^[\W_]+|[\W_]+$")


def find_named_participants(text: str, participants: Sequence[Participant]) -> tuple[str, ...]:
    """Return participant ids in order of first mention, at most `MAX_RESPONDERS`."""
    ids = {who.name.casefold(): who.id for who in participants}
    if not ids:
        return ()
    longest_first = sorted(ids, key=len, reverse=True)  # so that "Alpha 2" does not match "Alpha"
    name = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    found = (ids[match[0]] for match in name.finditer(text.casefold()))
    return tuple(dict.fromkeys(found))[:MAX_RESPONDERS]


def is_stop_request(text: str) -> bool:
    return " ".join(EDGE_PUNCTUATION.sub("", text).casefold().split()) in STOP_PHRASES


MAX_CHAINED_TURNS = 3

log = logging.getLogger(__name__)


async def continue_with_named_participant(deps: DiscordDeps, run: Run) -> None:
    """Start one more turn if the last answer names another participant.

    Idempotent: the run id is part of the idempotency key. Logs a rejected request instead of raising.
    """
    participant = await _next_participant_id(deps, run)
    if participant is not None:
        try:
            key = f"discord/after/{run.id}"
            await deps.discussion_service.continue_(deps.caller, run.discussion, 1, key, participant)
        except MootError as error:
            log.info("reply chain ended: request rejected", extra={"run": run.id, "reason": str(error)})


async def _next_participant_id(deps: DiscordDeps, run: Run) -> str | None:
    runs = await deps.runs.list_runs(deps.caller.tenant, run.discussion)
    if not runs or runs[-1].id != run.id or runs[-1].status != "completed":
        return None
    # Counts the trailing `continue` runs, so that two participants cannot answer each other forever.
    chained = next((at for at, one in enumerate(reversed(runs)) if one.mode in MODE_NAMES), MAX_CHAINED_TURNS)
    if chained >= MAX_CHAINED_TURNS:
        return None
    plan = await deps.runs.get_plan(runs[-1 - chained].id)
    answers = [one for one in await deps.discussions.run_messages(run.id) if one.participant and one.content]
    if plan.responders is None or not answers:
        return None
    others = [who for who in plan.participants if who.id != answers[-1].participant]
    return next(iter(find_named_participants(answers[-1].content, others)), None)
