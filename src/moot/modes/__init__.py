"""Discussion modes. Each mode is an async function with a `Table` argument; `MODES` maps names to functions."""

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

Mode = Callable[[Table], Awaitable[None]]

SELECTABLE_MODES: Mapping[str, Mode] = {
    "single": single,
    "parallel": parallel,
    "consensus": consensus,
    "debate": debate,
    "advisors": advisors,
    "directed": directed,
}
MODES: Mapping[str, Mode] = {**SELECTABLE_MODES, "continue": auto_continue}


def mode_for_plan(plan: RunPlan) -> Mode:
    """Return the function of the plan's mode, or `regenerate` if the plan has a target for it."""
    return MODES[plan.mode] if plan.again is None else partial(regenerate, target=plan.again)
