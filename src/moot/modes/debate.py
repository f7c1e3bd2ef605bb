"""Debate mode: initial answers, rebuttals, then a synthesis by the lead.

Concurrently with the synthesis, analysis tasks produce a summary, a list of claims and a ranking.
"""

from collections.abc import Coroutine, Sequence
from functools import partial

from msgspec.structs import replace

from moot.modes.table import Table, participants_with_answers
from moot.prompts.debate import rebuttal_instructions, synthesis_instructions
from moot.prompts.tasks.claims import claims_task
from moot.prompts.tasks.debate_summary import agreement_task, debate_summary_task
from moot.prompts.tasks.ranking import count_votes, vote_task
from moot.prompts.visibility import own_thread, with_instructions
from moot.types.billing import format_usd
from moot.types.events import AgreementChecked, VoteCast
from moot.types.participants import Participant

MIN_ANSWERS_TO_RANK = 3  # with two, each voter would have a list of one


async def debate(table: Table) -> None:
    await table.open_stage("initial")
    first = await table.all_speak("initial", view=own_thread, lane_status="debate")
    remaining = participants_with_answers(table.plan, first)
    if await _should_debate(table, remaining):
        await table.open_stage("debate")
        second = await table.all_speak(
            "debate",
            view=own_thread,
            participants=remaining,
            build_instructions=rebuttal_instructions,  # they contain the first answers of the others
            lane_status="complete",
        )
        # If every rebuttal failed, the synthesis uses the initial answers.
        remaining = participants_with_answers(table.plan, second) or remaining
    if remaining:
        await _write_conclusion(table, await _announce_and_order_lead(table, remaining))


async def _should_debate(table: Table, remaining: Sequence[Participant]) -> bool:
    """Return False if the debate is skipped; then complete the lanes and send a notice with the reason."""
    if not remaining:
        return False
    if len(remaining) == 1:
        await table.complete_lanes(
            remaining, "missing", f"Only {remaining[0].name} answered: there is nothing to debate."
        )
        return False
    if table.plan.debate.skip_if_agreed:
        verdict = await table.run_analysis(
            "agreement", _task_participant(table, _sort_lead_first(table, remaining)[0]), agreement_task
        )
        if isinstance(verdict, AgreementChecked) and verdict.agree:
            saved = "" if verdict.saved_usd is None else f", which saved about {format_usd(verdict.saved_usd)}"
            await table.complete_lanes(remaining, "agreed", f"{verdict.reason} The debate was skipped{saved}.")
            return False
    if not await table.can_afford("The debate", remaining, rebuttal_instructions, reserve_for=synthesis_instructions):
        await table.complete_lanes(remaining, "max_cost", "The first answers stand as they are.")
        return False
    return True


async def _announce_and_order_lead(table: Table, remaining: Sequence[Participant]) -> Sequence[Participant]:
    """Return the participants with the lead first. Sends a notice if the lead did not answer."""
    lead = table.plan.lead
    if lead not in remaining:
        replaced = f"{lead.name} did not answer. {remaining[0].name} writes the synthesis instead."
        await table.send_notice("lead_replaced", replaced)
    return _sort_lead_first(table, remaining)


def _sort_lead_first(table: Table, remaining: Sequence[Participant]) -> Sequence[Participant]:
    return sorted(remaining, key=lambda who: who.id != table.plan.lead.id)


async def _write_conclusion(table: Table, participants: Sequence[Participant]) -> None:
    """Run the synthesis and the analysis tasks concurrently.

    Cost checks run first: a coroutine of `run_concurrently` must be a single method call.
    """
    rules, analyst = table.plan.debate, _task_participant(table, participants[0])
    with_analyses = table.plan.debate_report
    claims = (
        with_analyses
        and rules.claims
        and await table.can_afford(
            "The list of claims", participants[:1], synthesis_instructions, reserve_for=synthesis_instructions
        )
    )
    enough = with_analyses and rules.ranking and len(participants) >= MIN_ANSWERS_TO_RANK
    ranked = enough and await table.can_afford(
        "The ranking", participants, synthesis_instructions, reserve_for=synthesis_instructions
    )
    await table.open_stage("synthesis", table.revision)
    tasks: list[Coroutine[None, None, object]] = [
        table.one_speaks(
            participants,
            "synthesis",
            round=table.revision,
            view=with_instructions,
            build_instructions=synthesis_instructions,
            role="synthesis",
        )
    ]
    if with_analyses:
        tasks.append(
            table.run_analysis(
                "summary",
                analyst,
                partial(debate_summary_task, participants=table.plan.responding_participants),
            )
        )
    if claims:
        tasks.append(table.run_analysis("claims", analyst, claims_task))
    if ranked:
        tasks += [table.run_analysis("ranking", who, partial(vote_task, voter=who.id)) for who in participants]
    votes = [one for one in await table.run_concurrently(*tasks) if isinstance(one, VoteCast)]
    if votes:
        await table.record_result(count_votes(votes))


def _task_participant(table: Table, fallback: Participant) -> Participant:
    """Return the participant for analysis tasks: `fallback`, with the task model if the plan has one."""
    return replace(fallback, model=table.plan.task_model or fallback.model)
