"""Routes for presets, and validation of their request bodies."""

import time

from litestar import Controller, delete, get, patch, post
from litestar.di import NamedDependency as Given
from litestar.params import FromPath, JSONBody
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import asdict, replace

from moot.server.requests import PageCursor, PageLimit
from moot.services.run_plans import ParticipantList, RunPlanner
from moot.store.library.presets import Presets
from moot.types.accounts import Caller
from moot.types.modes import AdvisorOptions, DebateOptions, DirectedOptions, ModeName, Rounds, check_mode, default_mode
from moot.types.presets import Preset, PresetPage
from moot.types.primitives import ModelName, Name, new_id


class PresetDraft(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Fields other than `name` have the same meaning as in `DiscussionDraft`."""

    name: Name
    participants: ParticipantList
    mode: ModeName | None = None
    rounds: Rounds = 2
    task_model: ModelName | None = None
    debate: DebateOptions | None = None
    advisors: AdvisorOptions | None = None
    directed: DirectedOptions | None = None


class PresetChange(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Omitted fields keep their value; null clears an optional field."""

    name: Name | UnsetType = UNSET
    participants: ParticipantList | UnsetType = UNSET
    mode: ModeName | UnsetType = UNSET
    rounds: Rounds | UnsetType = UNSET
    task_model: ModelName | UnsetType | None = UNSET
    debate: DebateOptions | UnsetType | None = UNSET
    advisors: AdvisorOptions | UnsetType | None = UNSET
    directed: DirectedOptions | UnsetType | None = UNSET


async def build_preset(run_planner: RunPlanner, tenant: str, draft: PresetDraft) -> Preset:
    preset = Preset(
        id=new_id("preset"),
        name=draft.name,
        mode=draft.mode or default_mode(draft.participants),
        participants=await run_planner.assign_participants(tenant, draft.participants),
        rounds=draft.rounds,
        task_model=draft.task_model,
        debate=draft.debate,
        advisors=draft.advisors,
        directed=draft.directed,
        created_at=time.time(),
    )
    if draft.task_model:
        run_planner.check_model(draft.task_model, "task_model")
    return _resolve_options(preset)


async def apply_preset_change(run_planner: RunPlanner, tenant: str, change: PresetChange, current: Preset) -> Preset:
    """Participants that the change omits are not validated again: their persona or model may be gone."""
    changes = {name: value for name, value in asdict(change).items() if value is not UNSET}
    if change.participants is not UNSET:
        changes["participants"] = await run_planner.assign_participants(tenant, change.participants)
    if change.task_model:
        run_planner.check_model(change.task_model, "task_model")
    return _resolve_options(replace(current, **changes))


def _resolve_options(preset: Preset) -> Preset:
    """Raises `UsageError` if the mode or its options do not match the participants."""
    check_mode(preset.mode, preset.participants)
    return replace(
        preset,
        debate=preset.debate.for_participants(preset.participants) if preset.debate else None,
        directed=preset.directed.for_participants(preset.participants) if preset.directed else None,
    )


class PresetRoutes(Controller):
    path = "/api/presets"
    tags = ("presets",)

    @get(summary="List presets, newest first")
    async def list_presets(
        self, caller: Given[Caller], presets: Given[Presets], cursor: PageCursor = None, limit: PageLimit = 50
    ) -> PresetPage:
        return await presets.list_presets(caller.tenant, cursor=cursor, limit=limit)

    @post(summary="Create a preset")
    async def create_preset(
        self,
        data: JSONBody[PresetDraft],
        caller: Given[Caller],
        run_planner: Given[RunPlanner],
        presets: Given[Presets],
    ) -> Preset:
        """Validated like a new discussion."""
        preset = await build_preset(run_planner, caller.tenant, data)
        await presets.add_preset(caller.tenant, preset)
        return preset

    @get("/{id:str}", summary="Get a preset")
    async def get_preset(self, id: FromPath[str], caller: Given[Caller], presets: Given[Presets]) -> Preset:
        return await presets.get_preset(caller.tenant, id)

    @patch("/{id:str}", summary="Change a preset; omitted fields keep their value")
    async def update_preset(
        self,
        id: FromPath[str],
        data: JSONBody[PresetChange],
        caller: Given[Caller],
        run_planner: Given[RunPlanner],
        presets: Given[Presets],
    ) -> Preset:
        """Existing discussions do not change."""
        before = await presets.get_preset(caller.tenant, id)
        after = await apply_preset_change(run_planner, caller.tenant, data, before)
        await presets.update_preset(caller.tenant, before, after)
        return after

    @delete("/{id:str}", summary="Delete a preset; existing discussions do not change")
    async def delete_preset(self, id: FromPath[str], caller: Given[Caller], presets: Given[Presets]) -> None:
        await presets.delete_preset(caller.tenant, id)
