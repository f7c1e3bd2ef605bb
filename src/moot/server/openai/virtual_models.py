"""Virtual models of the OpenAI API: one per mode, one per preset, and every real model."""

from collections.abc import Sequence

from msgspec.structs import replace

from moot.engine.model_resolution import DefaultParticipants
from moot.server.openai.schemas import ModelObject
from moot.services.discussions import DiscussionService
from moot.services.run_plans import NewDiscussion, RunPlanner
from moot.store.library.presets import Presets
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.modes import MODE_NAMES, MODES, ModeName, assign_lesson_roles
from moot.types.presets import Preset
from moot.types.run_plan import RunPlan

MODE_MODELS: dict[str, ModeName] = {f"moot/{mode}": mode for mode in MODE_NAMES}
MODE_PREFIX = "moot/"
PRESET_PREFIX = "preset/"
MAX_LISTED_PRESETS = 200
DEFAULT_ROUNDS = 2
PLACEHOLDER_LANGUAGE = "en"  # never sent to a model: an OpenAI client chooses the language in its messages


class VirtualModels:
    def __init__(
        self,
        discussion_service: DiscussionService,
        run_planner: RunPlanner,
        default_participants: DefaultParticipants,
        presets: Presets,
    ) -> None:
        self._discussion_service = discussion_service
        self._run_planner = run_planner
        self._default_participants = default_participants
        self._presets = presets

    async def list_models(self, caller: Caller) -> tuple[ModelObject, ...]:
        """List modes and presets. Real models also work as names, but listing them would query every provider."""
        presets = (await self._presets.list_presets(caller.tenant, limit=MAX_LISTED_PRESETS)).presets
        newest = {one.name: one for one in reversed(presets)}
        return (
            *(ModelObject(id=name) for name in MODE_MODELS),
            *(ModelObject(id=PRESET_PREFIX + name, created=int(one.created_at)) for name, one in newest.items()),
        )

    async def get_model(self, caller: Caller, name: str) -> ModelObject:
        if name.startswith(PRESET_PREFIX):
            return ModelObject(id=name, created=int((await self._find_preset(caller, name)).created_at))
        if name not in MODE_MODELS:
            self._check_model_name(name)
        return ModelObject(id=name)

    async def plan_run(self, caller: Caller, name: str) -> RunPlan:
        """Analyses (`debate_report`) are off, because an OpenAI response has no place for them."""
        plan = await self._run_planner.plan_run(
            caller.tenant,
            self._discussion_service.draft_discussion(await self._new_discussion(caller, name), PLACEHOLDER_LANGUAGE),
        )
        return replace(plan, language=None, knows_others=plan.spec.knows_others, debate_report=False)

    async def _new_discussion(self, caller: Caller, name: str) -> NewDiscussion:
        if name.startswith(PRESET_PREFIX):
            preset = await self._find_preset(caller, name)
            return NewDiscussion(
                message="",
                title=name,
                participants=preset.participants,
                mode=preset.mode,
                rounds=preset.rounds,
                debate=preset.debate,
                advisors=preset.advisors,
                directed=preset.directed,
            )
        mode = MODE_MODELS.get(name)
        if mode is None:
            self._check_model_name(name)
            models: Sequence[str] = (name,)
        else:
            single = MODES[mode].only_first
            models = await self._default_participants.default_models(caller.tenant, single=single)
        participants = await self._run_planner.assign_participants(caller.tenant, models)
        return NewDiscussion(
            message="",
            title=name,
            participants=assign_lesson_roles(participants, mode),
            mode=mode or "single",
            rounds=DEFAULT_ROUNDS,
        )

    async def _find_preset(self, caller: Caller, name: str) -> Preset:
        try:
            return await self._presets.find_preset(caller.tenant, name.removeprefix(PRESET_PREFIX))
        except NotFound as error:
            raise NotFound(f"model: {error} See GET /v1/models.") from error

    def _check_model_name(self, name: str) -> None:
        if name.startswith(MODE_PREFIX):
            raise NotFound(f"model: there is no {name!r}. Use one of {', '.join(MODE_MODELS)}.")
        try:
            self._run_planner.check_model(name, "model")
        except UsageError as error:
            raise NotFound(f"{error} Or use one that GET /v1/models lists.") from error
