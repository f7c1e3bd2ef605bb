"""Routes of line-ups, and the validation of their bodies."""

import time

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from moot.server.schemas import AdvisorRules, Cursor, DebateRules, LessonRules, Limit, Rounds, Table
from moot.services.participants import Seating
from moot.store.library.presets import LineUps
from moot.types.accounts import Caller
from moot.types.modes import ModeName, check_mode, usual_mode
from moot.types.presets import LineUp, LineUpPage
from moot.types.primitives import ModelName, Name, new_id


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


class LineUpRoutes(Controller):
    path = "/api/line-ups"
    tags = ("line_ups",)

    @get(summary="List line-ups, newest first")
    async def list(
        self, caller: Given[Caller], line_ups: Given[LineUps], cursor: Cursor = None, limit: Limit = 50
    ) -> LineUpPage:
        return await line_ups.page(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Keep a line-up")
    async def create(
        self,
        data: JSONBody[LineUpDraft],
        caller: Given[Caller],
        seating: Given[Seating],
        line_ups: Given[LineUps],
    ) -> LineUp:
        """It is checked as if a discussion were opened with it."""
        new = await drafted(seating, caller.tenant, data)
        await line_ups.add(caller.tenant, new)
        return new

    @get("/{id:str}", summary="Read a line-up")
    async def read(self, id: FromPath[str], caller: Given[Caller], line_ups: Given[LineUps]) -> LineUp:
        return await line_ups.get(caller.tenant, id)

    @patch("/{id:str}", summary="Change a line-up; what is left out stays as it is")
    async def change(
        self,
        id: FromPath[str],
        data: JSONBody[LineUpChange],
        caller: Given[Caller],
        seating: Given[Seating],
        line_ups: Given[LineUps],
    ) -> LineUp:
        """Discussions that were opened with it stay as they are."""
        before = await line_ups.get(caller.tenant, id)
        after = await changed(seating, caller.tenant, data, before)
        await line_ups.change(caller.tenant, before, after)
        return after

    @delete("/{id:str}", summary="Delete a line-up; discussions that were opened with it stay")
    async def drop(self, id: FromPath[str], caller: Given[Caller], line_ups: Given[LineUps]) -> None:
        await line_ups.delete(caller.tenant, id)
