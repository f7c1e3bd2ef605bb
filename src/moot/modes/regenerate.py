"""Regenerate: repeats one turn with the same prompt, which adds a version of its message."""

from moot.modes.table import Table
from moot.prompts.visibility import view_of_run
from moot.types.run_plan import RegenerateTarget


async def regenerate(table: Table, target: RegenerateTarget) -> None:
    await table.speak(
        table.plan.find_participant(target.participant),
        target.stage,
        round=target.round,
        view=view_of_run(target.run, target.view),
        instruction=target.instructions,
        with_actions=table.plan.spec.has_whiteboard,
    )
