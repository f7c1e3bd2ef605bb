"""Routes of line-ups, and the validation of their bodies."""

import time

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from moot.server.schemas import (
    AdvisorRules,
    DebateRules,
    LessonRules,
    PageCursor,
    PageLimit,
    ParticipantList,
    Rounds,
)
from moot.services.participants import ParticipantResolver
from moot.store.library.presets import Presets
from moot.types.accounts import Caller
from moot.types.modes import ModeName, check_mode, default_mode
from moot.types.presets import Preset, PresetPage
from moot.types.primitives import ModelName, Name, new_id


class PresetDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All but `name` is as in a discussion that is opened."""

    name: Name
    participants: ParticipantList
    mode: ModeName | None = None
    rounds: Rounds = 2
    clerk: ModelName | None = None
    debate: DebateRules | None = None
    advisors: AdvisorRules | None = None
    directed: LessonRules | None = None


class PresetChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes away what can be taken away."""

    name: Name | UnsetType = UNSET
    participants: ParticipantList | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    clerk: ModelName | UnsetType | None = UNSET
    debate: DebateRules | UnsetType | None = UNSET
    advisors: AdvisorRules | UnsetType | None = UNSET
    directed: LessonRules | UnsetType | None = UNSET


async def build_preset(participant_resolver: ParticipantResolver, tenant: str, draft: PresetDraft) -> Preset:
    new = Preset(
        id=new_id("line_up"),
        name=draft.name,
        mode=draft.mode or default_mode(draft.participants),
        participants=await participant_resolver.resolve_participants(tenant, draft.participants),
        rounds=draft.rounds,
        clerk=draft.clerk,
        debate=None,
        advisors=draft.advisors.to_advisors() if draft.advisors else None,
        directed=None,
        created_at=time.time(),
    )
    if draft.clerk:
        participant_resolver.check_model(draft.clerk, "clerk")
    return _apply_rules(new, draft.debate, draft.directed)


async def apply_preset_change(
    participant_resolver: ParticipantResolver, tenant: str, change: PresetChange, current: Preset
) -> Preset:
    """Return what comes of a change. Those who stay are not looked for again: a persona may be gone, or a model."""
    sent = {name: value for name, value in asdict(change).items() if value is not UNSET}
    if change.participants is not UNSET:
        sent["participants"] = await participant_resolver.resolve_participants(tenant, change.participants)
    if change.clerk:
        participant_resolver.check_model(change.clerk, "clerk")
    if change.advisors:
        sent["advisors"] = change.advisors.to_advisors()
    debate = sent.pop("debate", current.debate and DebateRules(**asdict(current.debate)))
    directed = sent.pop("directed", current.directed and LessonRules(**asdict(current.directed)))
    return _apply_rules(replace(current, **sent), debate, directed)


def _apply_rules(preset: Preset, debate: DebateRules | None, directed: LessonRules | None) -> Preset:
    """Give a line-up rules that those who sit there can keep."""
    check_mode(preset.mode, preset.participants)
    return replace(
        preset,
        debate=debate.to_debate(preset.participants) if debate else None,
        directed=directed.to_directed(preset.participants) if directed else None,
    )


class PresetRoutes(Controller):
    path = "/api/line-ups"
    tags = ("line_ups",)

    @get(summary="List line-ups, newest first")
    async def list_presets(
        self,
        caller: Given[Caller],
        presets: Given[Presets],
        cursor: PageCursor = None,
        limit: PageLimit = 50,
    ) -> PresetPage:
        return await presets.list_presets(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Keep a line-up")
    async def create_preset(
        self,
        data: JSONBody[PresetDraft],
        caller: Given[Caller],
        participant_resolver: Given[ParticipantResolver],
        presets: Given[Presets],
    ) -> Preset:
        """It is checked as if a discussion were opened with it."""
        new = await build_preset(participant_resolver, caller.tenant, data)
        await presets.add_preset(caller.tenant, new)
        return new

    @get("/{id:str}", summary="Read a line-up")
    async def get_preset(self, id: FromPath[str], caller: Given[Caller], presets: Given[Presets]) -> Preset:
        return await presets.get_preset(caller.tenant, id)

    @patch("/{id:str}", summary="Change a line-up; what is left out stays as it is")
    async def update_preset(
        self,
        id: FromPath[str],
        data: JSONBody[PresetChange],
        caller: Given[Caller],
        participant_resolver: Given[ParticipantResolver],
        presets: Given[Presets],
    ) -> Preset:
        """Discussions that were opened with it stay as they are."""
        before = await presets.get_preset(caller.tenant, id)
        after = await apply_preset_change(participant_resolver, caller.tenant, data, before)
        await presets.update_preset(caller.tenant, before, after)
        return after

    @delete("/{id:str}", summary="Delete a line-up; discussions that were opened with it stay")
    async def delete_preset(self, id: FromPath[str], caller: Given[Caller], presets: Given[Presets]) -> None:
        await presets.delete_preset(caller.tenant, id)
