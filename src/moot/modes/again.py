"""Again: whoever gave an answer gives another one, having seen exactly what it saw then."""

from moot.context.views import as_seen_in
from moot.model.plans import Anew
from moot.modes.table import Table


async def again(table: Table, then: Anew) -> None:
    await table.speak(
        table.plan.participant(then.participant),
        then.stage,
        round=then.round,
        view=as_seen_in(then.run, then.view),
        instruction=then.instruction,
        acting=table.plan.mode == "directed",
    )
