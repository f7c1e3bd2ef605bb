"""Directed: one speaks at a time, and a director decides who is next, until the user has the word or it is over."""

from functools import partial
from itertools import count

from msgspec.structs import replace

from moot.modes.table import Table
from moot.prompts.lesson import lesson_instructions
from moot.prompts.tasks.director import (
    DirectorContext,
    build_director_context,
    decide_by_rules,
    director_task,
    fallback_decision,
)
from moot.prompts.tasks.task import AnalysisTask
from moot.prompts.visibility import in_lesson
from moot.types.events import Decided
from moot.types.modes import LESSON_ENDS, LESSON_STAGE, USER_SPEAKS_NEXT


async def directed(table: Table) -> None:
    left: set[str] = set()  # whom somebody stopped
    for turn in count():
        decision = await _select_speaker(
            table, build_director_context(table.plan, table.messages, table.run, turn, left)
        )
        if decision.next in {USER_SPEAKS_NEXT, LESSON_ENDS}:
            return
        who = table.plan.find_participant(decision.next)
        if turn and not await table.can_afford(f"Turn {turn + 1}", [who]):
            return
        await table.open_stage(LESSON_STAGE, turn)
        status = await table.speak(
            who,
            LESSON_STAGE,
            round=turn,
            view=in_lesson,
            build_instructions=lesson_instructions,
            with_actions=True,
        )
        if status == "stopped":
            left.add(who.id)


async def _select_speaker(table: Table, context: DirectorContext) -> Decided:
    """Let the rules decide; where they leave a choice, one small question to a model does."""
    decided = decide_by_rules(context)
    if decided is None:
        director = replace(table.plan.lead, model=table.plan.clerk or table.plan.lead.model)
        found = await table.run_analysis(
            "director", director, partial(_build_task, context), round=context.turn
        )
        decided = found if isinstance(found, Decided) else fallback_decision(context)
    await table.record_result(decided)
    return decided


def _build_task(context: DirectorContext, *_: object) -> AnalysisTask:
    return director_task(context)
