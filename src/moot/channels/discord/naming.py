"""Who is called by name in what somebody says, and whether it only says that the others are to stop."""

import re
from collections.abc import Sequence

from moot.model.participants import Participant

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
