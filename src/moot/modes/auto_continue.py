"""Auto-continue: participants speak in turn without a user message, from index `plan.first_position`."""

from itertools import cycle, islice

from moot.modes.table import Table
from moot.prompts.library import load_template
from moot.prompts.visibility import everything


async def auto_continue(table: Table) -> None:
    participants = table.plan.responding_participants
    instruction = load_template("go_on_together" if len(participants) > 1 else "go_on_alone")
    speakers = islice(cycle(participants), table.plan.first_position, None)
    silent = 0
    for step in range(table.plan.turns):
        status = await table.speak(next(speakers), "continue", round=step, view=everything, instruction=instruction)
        silent = silent + 1 if status in {"failed", "stopped"} else 0
        if silent == len(participants):  # a whole round failed or was stopped: more turns would fail too
            return
