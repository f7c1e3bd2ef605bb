"""The modes: each a short program that reads as its description. A new one is a file and a line here."""

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
    """Find the program of a run: that of its mode, or one turn of it again."""
    return MODES[plan.mode] if plan.again is None else partial(regenerate, target=plan.again)
