"""Directed: one speaks at a time, and a director decides who is next, until the user has the word or it is over."""

from functools import partial
from itertools import count

from msgspec.structs import replace

from moot.modes.table import Table
from moot.prompts.lesson import now_in_lesson
from moot.prompts.tasks.director import Floor, ask, by_rules, fallback, floor_of
from moot.prompts.tasks.task import Inquiry
from moot.prompts.visibility import in_lesson
from moot.types.events import Decided
from moot.types.modes import END, STAGE, USER


async def directed(table: Table) -> None:
    left: set[str] = set()  # whom somebody stopped
    for turn in count():
        decision = await _decision(table, floor_of(table.plan, table.said, table.run, turn, left))
        if decision.next in {USER, END}:
            return
        who = table.plan.participant(decision.next)
        if turn and not await table.affords(f"Turn {turn + 1}", [who]):
            return
        await table.open_stage(STAGE, turn)
        status = await table.speak(who, STAGE, round=turn, view=in_lesson, brief=now_in_lesson, acting=True)
        if status == "stopped":
            left.add(who.id)


async def _decision(table: Table, floor: Floor) -> Decided:
    """Let the rules decide; where they leave a choice, one small question to a model does."""
    decided = by_rules(floor)
    if decided is None:
        director = replace(table.plan.lead, model=table.plan.clerk or table.plan.lead.model)
        found = await table.find("director", director, partial(_asked, floor), round=floor.turn)
        decided = found if isinstance(found, Decided) else fallback(floor)
    await table.conclude(decided)
    return decided


def _asked(floor: Floor, *_: object) -> Inquiry:
    return ask(floor)
