"""What is wanted of a line-up: shapes, and the rules that a discussion opened with it would have to keep."""

import time

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from moot.engine.seating import Seating
from moot.model.ids import new_id
from moot.model.line_ups import LineUp
from moot.model.modes import ModeName, check_mode, usual_mode
from moot.model.texts import ModelName, Name
from moot.server.bodies import AdvisorRules, DebateRules, LessonRules, Rounds, Table


class LineUpDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All but `name` is as in a discussion that is opened."""

    name: Name
    participants: Table
    mode: ModeName | None = None
    rounds: Rounds = 2
    clerk: ModelName | None = None
    debate: DebateRules | None = None
    advisors: AdvisorRules | None = None
    directed: LessonRules | None = None


class LineUpChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes away what can be taken away."""

    name: Name | UnsetType = UNSET
    participants: Table | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    clerk: ModelName | UnsetType | None = UNSET
    debate: DebateRules | UnsetType | None = UNSET
    advisors: AdvisorRules | UnsetType | None = UNSET
    directed: LessonRules | UnsetType | None = UNSET


async def drafted(seating: Seating, tenant: str, draft: LineUpDraft) -> LineUp:
    new = LineUp(
        id=new_id("line_up"),
        name=draft.name,
        mode=draft.mode or usual_mode(draft.participants),
        participants=await seating.seat(tenant, draft.participants),
        rounds=draft.rounds,
        clerk=draft.clerk,
        debate=None,
        advisors=draft.advisors.checked() if draft.advisors else None,
        directed=None,
        created_at=time.time(),
    )
    if draft.clerk:
        seating.check(draft.clerk, "clerk")
    return _ruled(new, draft.debate, draft.directed)


async def changed(seating: Seating, tenant: str, change: LineUpChange, now: LineUp) -> LineUp:
    """Return what comes of a change. Those who stay are not looked for again: a persona may be gone, or a model."""
    sent = {name: value for name, value in asdict(change).items() if value is not UNSET}
    if change.participants is not UNSET:
        sent["participants"] = await seating.seat(tenant, change.participants)
    if change.clerk:
        seating.check(change.clerk, "clerk")
    if change.advisors:
        sent["advisors"] = change.advisors.checked()
    debate = sent.pop("debate", now.debate and DebateRules(**asdict(now.debate)))
    directed = sent.pop("directed", now.directed and LessonRules(**asdict(now.directed)))
    return _ruled(replace(now, **sent), debate, directed)


def _ruled(line_up: LineUp, debate: DebateRules | None, directed: LessonRules | None) -> LineUp:
    """Give a line-up rules that those who sit there can keep."""
    check_mode(line_up.mode, line_up.participants)
    return replace(
        line_up,
        debate=debate.checked(line_up.participants) if debate else None,
        directed=directed.checked(line_up.participants) if directed else None,
    )
