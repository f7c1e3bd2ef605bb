"""Debate report of a run in the terminal, built from the state of the run."""

from moot.transcript.debate_report import NO_CLAIMS, Report, build_report
from moot.types.billing import format_usd
from moot.types.events import ANSWERED_STATUSES
from moot.types.run_state import RunState


def is_debate(run: RunState) -> bool:
    return any(one.stage == "initial" for one in run.stages)


def has_debate_report(run: RunState) -> bool:
    """False before the first answer, and outside a debate."""
    return is_debate(run) and any(turn.status in ANSWERED_STATUSES for turn in run.ended_turns)


def build_debate_report(run: RunState) -> Report:
    """The cost is that of all calls: answers, synthesis and analyses."""
    cost = "unknown" if run.cost_usd is None else format_usd(run.cost_usd)
    return build_report(
        run.names, f"Cost: {cost}", summary=run.summary, ranking=run.ranking, claims=run.claims or NO_CLAIMS
    )
