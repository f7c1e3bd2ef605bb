"""Auto-continue: the table goes on by itself, beginning with the one after the last speaker."""

from itertools import cycle, islice

from moot.modes.table import Table
from moot.prompts.templates import load_template
from moot.prompts.visibility import everything


async def auto_continue(table: Table) -> None:
    everybody = table.plan.responding_participants
    instruction = load_template("go_on_together" if len(everybody) > 1 else "go_on_alone")
    speakers = islice(cycle(everybody), table.plan.first, None)
    silent = 0
    for step in range(table.plan.turns):
        status = await table.speak(
            next(speakers), "continue", round=step, view=everything, instruction=instruction
        )
        silent = silent + 1 if status in {"failed", "stopped"} else 0
        if silent == len(everybody):  # once round the table without a word: nothing will come of it
            return
