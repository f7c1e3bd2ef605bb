"""The tables that OpenAI clients know as models: one a mode, saved line-ups, and any single model."""

from collections.abc import Sequence
from typing import get_args

from msgspec.structs import replace

from moot.engine.model_resolution import UsualTable
from moot.server.openai.schemas import Model
from moot.services.discussions import Hall, Opening
from moot.services.participants import Seating, Wanted
from moot.services.run_plans import Planning
from moot.store.library.presets import LineUps
from moot.types.accounts import Caller
from moot.types.errors import NotFound, UsageError
from moot.types.modes import TOGETHER, ModeName
from moot.types.presets import LineUp
from moot.types.run_plan import Plan

MODES: dict[str, ModeName] = {f"moot/{mode}": mode for mode in get_args(ModeName)}
OURS = "moot/"
SAVED = "line-up/"
SHOWN = 200  # line-ups
ROUNDS = 2
ENGLISH = "en"  # what nobody is told: a client says itself in which language it wants to be answered


class Tables:
    def __init__(
        self, hall: Hall, planning: Planning, seating: Seating, usual: UsualTable, line_ups: LineUps
    ) -> None:
        self._hall = hall
        self._planning = planning
        self._seating = seating
        self._usual = usual
        self._line_ups = line_ups

    async def listed(self, caller: Caller) -> tuple[Model, ...]:
        """List one table a mode and the saved ones; single models are not asked for, and can be named all the same."""
        saved = (await self._line_ups.page(caller.tenant, limit=SHOWN)).line_ups
        newest = {one.name: one for one in reversed(saved)}
        return (
            *(Model(id=name) for name in MODES),
            *(Model(id=SAVED + name, created=int(one.created_at)) for name, one in newest.items()),
        )

    async def one(self, caller: Caller, name: str) -> Model:
        if name.startswith(SAVED):
            return Model(id=name, created=int((await self._saved(caller, name)).created_at))
        if name not in MODES:
            self._check_single(name)
        return Model(id=name)

    async def plan(self, caller: Caller, name: str) -> Plan:
        """Plan a run at a table; no minutes are kept, for nobody would read them."""
        plan = await self._planning.plan(
            caller.tenant, self._hall.drafted(await self._opening(caller, name), ENGLISH)
        )
        return replace(plan, language=None, introduced=plan.mode in TOGETHER, minutes=False)

    async def _opening(self, caller: Caller, name: str) -> Opening:
        if name.startswith(SAVED):
            saved = await self._saved(caller, name)
            return Opening(
                message="",
                title=name,
                participants=saved.participants,
                mode=saved.mode,
                rounds=saved.rounds,
                debate=saved.debate,
                advisors=saved.advisors,
                directed=saved.directed,
            )
        mode = MODES.get(name)
        if mode is None:
            self._check_single(name)
        wanted = await self._wanted(caller, mode) if mode else [name]
        participants = await self._seating.seat(caller.tenant, wanted)
        return Opening(
            message="", title=name, participants=participants, mode=mode or "single", rounds=ROUNDS
        )

    async def _wanted(self, caller: Caller, mode: ModeName) -> Sequence[str | Wanted]:
        models = await self._usual.models(caller.tenant, alone=mode == "single")
        if mode != "directed":
            return models
        return [Wanted(model=one, role="student" if place else "teacher") for place, one in enumerate(models)]

    async def _saved(self, caller: Caller, name: str) -> LineUp:
        try:
            return await self._line_ups.named(caller.tenant, name.removeprefix(SAVED))
        except NotFound as error:
            raise NotFound(f"model: {error} GET /v1/models lists those that there are.") from error

    def _check_single(self, name: str) -> None:
        if name.startswith(OURS):
            raise NotFound(f"model: there is no {name!r}: there are {', '.join(MODES)}.")
        try:
            self._seating.check(name, "model")
        except UsageError as error:
            raise NotFound(f"{error} Or take one that GET /v1/models lists.") from error
