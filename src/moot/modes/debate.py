"""Debate: all answer alone, all read each other and think again, and the lead sums up.

Beside the synthesis the minutes are made: a summary, a ledger of claims, and a ranking by those who took part.
"""

from collections.abc import Coroutine, Sequence
from functools import partial

from msgspec.structs import replace

from moot.modes.table import Table, answered
from moot.prompts.debate import read_the_others, sum_up
from moot.prompts.tasks.claims import ledger
from moot.prompts.tasks.debate_summary import agreement, summary
from moot.prompts.tasks.ranking import ballot, ranking
from moot.prompts.visibility import briefed, own_thread
from moot.types.billing import dollars
from moot.types.events import Agreed, BallotCast
from moot.types.participants import Participant

FEWEST_TO_RANK = 3  # with two, each would judge one answer, and that is no order


async def debate(table: Table) -> None:
    await table.open_stage("initial")
    first = await table.all_speak("initial", view=own_thread, then="debate")
    standing = answered(table.plan, first)
    if await _goes_on(table, standing):
        await table.open_stage("debate")
        second = await table.all_speak(
            "debate", view=own_thread, who=standing, brief=read_the_others, then="complete"
        )
        standing = answered(table.plan, second) or standing
    if standing:
        await _conclude(table, await _led(table, standing))


async def _goes_on(table: Table, standing: Sequence[Participant]) -> bool:
    """Decide whether there is something to debate, and tell if there is not."""
    if not standing:
        return False
    if len(standing) == 1:
        await table.settle(
            standing, "missing", f"Only {standing[0].name} answered: there is nothing to debate."
        )
        return False
    if table.plan.debate.gate:
        verdict = await table.find("gate", _clerk(table, _lead_first(table, standing)[0]), agreement)
        if isinstance(verdict, Agreed) and verdict.agree:
            saved = "" if verdict.saved is None else f", which saved about {dollars(verdict.saved)}"
            await table.settle(standing, "agreed", f"{verdict.reason} The debate was skipped{saved}.")
            return False
    if not await table.affords("The debate", standing, read_the_others, keeping=sum_up):
        await table.settle(standing, "cap", "The first answers stand as they are.")
        return False
    return True


async def _led(table: Table, standing: Sequence[Participant]) -> Sequence[Participant]:
    """Put the lead first, and tell if it is out."""
    lead = table.plan.lead
    if lead not in standing:
        await table.tell("lead_replaced", f"{lead.name} dropped out: {standing[0].name} sums up instead.")
    return _lead_first(table, standing)


def _lead_first(table: Table, standing: Sequence[Participant]) -> Sequence[Participant]:
    return sorted(standing, key=lambda who: who.id != table.plan.lead.id)


async def _conclude(table: Table, led: Sequence[Participant]) -> None:
    """Write the synthesis and the minutes, if any are kept, at the same time."""
    rules, clerk = table.plan.debate, _clerk(table, led[0])
    kept = table.plan.minutes
    claims = kept and rules.ledger and await table.affords("The ledger", led[:1], sum_up, keeping=sum_up)
    enough = kept and rules.ranking and len(led) >= FEWEST_TO_RANK
    ranked = enough and await table.affords("The ranking", led, sum_up, keeping=sum_up)
    await table.open_stage("synthesis", table.revision)
    doings: list[Coroutine[None, None, object]] = [
        table.one_speaks(led, "synthesis", round=table.revision, view=briefed, brief=sum_up, role="synthesis")
    ]
    if kept:
        doings.append(table.find("summary", clerk, partial(summary, participants=table.plan.speaking)))
    if claims:
        doings.append(table.find("ledger", clerk, ledger))
    if ranked:
        doings += [table.find("ranking", who, partial(ballot, voter=who.id)) for who in led]
    ballots = [one for one in await table.together(*doings) if isinstance(one, BallotCast)]
    if ballots:
        await table.conclude(ranking(ballots))


def _clerk(table: Table, otherwise: Participant) -> Participant:
    """Say who is asked about the debate: the clerk's model, if there is one."""
    return replace(otherwise, model=table.plan.clerk or otherwise.model)
