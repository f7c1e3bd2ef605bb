"""Again: whoever gave an answer gives another one, having seen exactly what it saw then."""

from moot.modes.table import Table
from moot.prompts.visibility import as_seen_in
from moot.types.run_plan import Anew


async def again(table: Table, then: Anew) -> None:
    await table.speak(
        table.plan.participant(then.participant),
        then.stage,
        round=then.round,
        view=as_seen_in(then.run, then.view),
        instruction=then.instruction,
        acting=table.plan.mode == "directed",
    )
