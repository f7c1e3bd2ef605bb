"""Budgets over HTTP: how the week stands, beginning it anew, and what something would cost before it is asked."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Meta, Struct
from msgspec.structs import replace

from moot.context.language import is_known
from moot.engine.forecast import Forecast
from moot.engine.hall import Opening, drafted
from moot.engine.planning import Planning
from moot.engine.seating import Seating
from moot.engine.treasury import Treasury
from moot.model.accounts import Caller
from moot.model.debates import Debate
from moot.model.errors import UsageError, wanted_by
from moot.model.money import Budget
from moot.model.plans import Plan
from moot.model.texts import ModelName
from moot.server.bodies import DiscussionDraft, Id, Table, said
from moot.store.budgets import Budgets
from moot.store.discussions import Discussions
from moot.store.personas import Personas
from moot.store.projects import Projects


class Supposed(DiscussionDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody thinks of asking: in a `discussion` that exists, or of `participants` in a new one."""

    discussion: Id | None = None
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    participants: Table | None = None  # type: ignore[assignment]
    clerk: ModelName | None = None
    debate: Debate | None = None


class Estimate(Struct, frozen=True, kw_only=True):
    """`left` is what is left of the week's budget, if there is one."""

    forecast: Forecast
    left: float | None


class BudgetRoutes(Controller):
    path = "/api"
    tags = ("budget",)

    @get("/budget", summary="Say how this week's budget stands")
    async def read(self, caller: Given[Caller], budgets: Given[Budgets]) -> Budget:
        return await budgets.standing(caller.account)

    @post("/budget/re-up", status_code=200, summary="Begin this week's budget anew, once in a week")
    async def re_up(self, caller: Given[Caller], budgets: Given[Budgets]) -> Budget:
        return await budgets.re_up(caller.account)

    @post("/estimate", status_code=200, summary="Say what something would cost; nothing is asked")
    async def estimate(
        self,
        data: JSONBody[Supposed],
        caller: Given[Caller],
        budgets: Given[Budgets],
        discussions: Given[Discussions],
        personas: Given[Personas],
        planning: Given[Planning],
        projects: Given[Projects],
        seating: Given[Seating],
        treasury: Given[Treasury],
    ) -> Estimate:
        """Guess the calls of a run, the tokens of each and their prices."""
        said(data.message)
        if data.discussion is not None:
            with wanted_by("discussion"):
                discussion = await discussions.get(caller.tenant, data.discussion)
            if data.participants is not None:
                raise UsageError("participants: those of the discussion are asked: leave them out.")
            plan = await planning.plan(caller.tenant, discussion, to=data.to)
        else:
            await _check(caller, data, seating, personas, projects)
            plan = await _plan(caller, data, seating, planning)
        forecast = await treasury.forecast(caller, plan, data.message, data.discussion)
        return Estimate(forecast=forecast, left=(await budgets.standing(caller.account)).left)


async def _check(
    caller: Caller, data: Supposed, seating: Seating, personas: Personas, projects: Projects
) -> None:
    if data.persona is not None:
        with wanted_by("persona"):
            await personas.get(caller.tenant, data.persona)
    if data.project is not None:
        with wanted_by("project"):
            await projects.get(caller.tenant, data.project)
    for field, model in (("model", data.model), ("clerk", data.clerk)):
        if model is not None:
            seating.check(model, field)
    if data.language is not None and not is_known(data.language):
        raise UsageError(f"language: {data.language!r} is no language code that is known here.")


async def _plan(caller: Caller, data: Supposed, seating: Seating, planning: Planning) -> Plan:
    """Plan the run with which a discussion would begin."""
    if data.participants is None:
        raise UsageError("participants: name models, or a discussion that exists.")
    opening = Opening(
        message=data.message,
        participants=await seating.seat(caller.tenant, data.participants),
        mode=data.mode or ("single" if len(data.participants) == 1 else "parallel"),
        rounds=data.rounds,
        persona=data.persona,
        project=data.project,
        model=data.model,
    )
    plan = await planning.plan(caller.tenant, drafted(opening, data.language or "en"))
    return replace(plan, debate=data.debate or plan.debate, clerk=data.clerk)
