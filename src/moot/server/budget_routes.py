"""Budgets over HTTP: how the week stands, beginning it anew, and what something would cost before it is asked."""

from typing import Annotated

from litestar import Controller, get, post
from litestar.di import NamedDependency as Given
from litestar.params import JSONBody
from msgspec import Meta, Struct

from moot.engine.attaching import Attaching
from moot.engine.forecast import Forecast
from moot.engine.hall import Hall
from moot.engine.planning import Planning
from moot.engine.treasury import Treasury
from moot.model.accounts import Caller
from moot.model.discussions import Message
from moot.model.errors import UsageError, wanted_by
from moot.model.money import Budget
from moot.server.bodies import DiscussionDraft, Id, Table, said
from moot.server.drafts import Drafts
from moot.store.budgets import Budgets
from moot.store.discussions import Discussions

OF_A_MESSAGE = frozenset({"discussion", "message", "to", "files", "cap"})


class Supposed(DiscussionDraft, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What somebody thinks of asking: in a `discussion` that exists, or of `participants` in a new one."""

    discussion: Id | None = None
    to: Annotated[tuple[Id, ...], Meta(min_length=1, max_length=24)] | None = None
    participants: Table | None = None  # type: ignore[assignment]


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
        attaching: Given[Attaching],
        budgets: Given[Budgets],
        discussions: Given[Discussions],
        drafts: Given[Drafts],
        hall: Given[Hall],
        planning: Given[Planning],
        treasury: Given[Treasury],
    ) -> Estimate:
        """Guess the calls of a run, the tokens of each and their prices."""
        if data.discussion is not None:
            said(data.message)
            with wanted_by("discussion"):
                discussion = await discussions.get(caller.tenant, data.discussion)
            _refuse_rules(data)
        elif data.participants is not None:
            opening = await drafts.opening(caller, data, data.participants)
            discussion = hall.drafted(opening, data.language or "en")
        else:
            raise UsageError("participants: name models, or a discussion that exists.")
        plan = await planning.plan(caller.tenant, discussion, to=data.to)
        await attaching.check(caller.tenant, data.files, plan)
        forecast = await treasury.forecast(caller, plan, _message(data), data.discussion)
        return Estimate(forecast=forecast, left=(await budgets.standing(caller.account)).left)


def _refuse_rules(data: Supposed) -> None:
    """Refuse what a discussion that exists has of its own, and a message to it cannot change."""
    nothing = Supposed(message=data.message)
    for name in Supposed.__struct_fields__:
        if name not in OF_A_MESSAGE and getattr(data, name) != getattr(nothing, name):
            raise UsageError(
                f"{name}: the discussion has its own: leave it out, or leave the discussion out."
            )


def _message(data: Supposed) -> Message:
    """Make the message that would be stored, with all of it that anybody reads."""
    files = tuple(dict.fromkeys(data.files)) or None
    return Message(id="", discussion=data.discussion or "", role="user", content=data.message, files=files)
