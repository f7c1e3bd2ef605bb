"""Directed mode: a director selects the next speaker until it returns to the user or ends the lesson."""

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
from moot.prompts.visibility import lesson_view
from moot.types.events import SpeakerSelected
from moot.types.modes import LESSON_ENDS, LESSON_STAGE, USER_SPEAKS_NEXT


async def directed(table: Table) -> None:
    stopped: set[str] = set()  # ids of participants that a user stopped; the director skips them
    for turn in count():
        decision = await _select_speaker(
            table, build_director_context(table.plan, table.messages, table.run, turn, stopped)
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
            view=lesson_view,
            build_instructions=lesson_instructions,
            with_actions=True,
        )
        if status == "stopped":
            stopped.add(who.id)


async def _select_speaker(table: Table, context: DirectorContext) -> SpeakerSelected:
    """Send a model request only if the rules return no decision. Fall back to a default on errors."""
    decision = decide_by_rules(context)
    if decision is None:
        director = replace(table.plan.lead, model=table.plan.task_model or table.plan.lead.model)
        result = await table.run_analysis("director", director, partial(_build_task, context), round=context.turn)
        decision = result if isinstance(result, SpeakerSelected) else fallback_decision(context)
    await table.record_result(decision)
    return decision


def _build_task(context: DirectorContext, *_: object) -> AnalysisTask:
    return director_task(context)
