"""Programs of the modes, each an async function with a `Table` argument. `moot.types.modes` has the rest of a mode."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from moot.modes.advisors import advisors
from moot.modes.auto_continue import auto_continue
from moot.modes.consensus import consensus
from moot.modes.debate import debate
from moot.modes.directed import directed
from moot.modes.parallel import parallel
from moot.modes.regenerate import regenerate
from moot.modes.single import single
from moot.modes.table import Table
from moot.types.run_plan import RunPlan

ModeProgram = Callable[[Table], Awaitable[None]]

PROGRAMS: Mapping[str, ModeProgram] = {
    "single": single,
    "parallel": parallel,
    "consensus": consensus,
    "debate": debate,
    "advisors": advisors,
    "directed": directed,
    "continue": auto_continue,
}


def program_for_plan(plan: RunPlan) -> ModeProgram:
    """Return the program of the plan's mode, or `regenerate` if the plan has a target for it."""
    return PROGRAMS[plan.mode] if plan.regenerate is None else partial(regenerate, target=plan.regenerate)
