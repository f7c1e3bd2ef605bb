"""Advisors mode: participants answer concurrently, each in a private thread with the user.

Optional stages follow: one response to each other, and a synthesis by the first advisor.
"""

from moot.modes.table import Table, participants_with_answers
from moot.prompts.advisors import advisor_synthesis_instructions, cross_talk_instructions
from moot.prompts.visibility import advisor_view


async def advisors(table: Table) -> None:
    plan, rules = table.plan, table.plan.advisors
    if not plan.has_advisors:  # no advisor is active: return a plain answer
        await table.speak(plan.responding_participants[0])
        return
    await table.open_stage("answer")
    remaining = participants_with_answers(plan, await table.all_speak(view=advisor_view))
    if len(remaining) < 2:
        if remaining and (rules.cross_talk or rules.synthesis):
            missing = f"Only {remaining[0].name} answered. Cross-talk and a synthesis need two answers."
            await table.send_notice("missing", missing)
        return
    last = advisor_synthesis_instructions if rules.synthesis else None
    if rules.cross_talk and await table.can_afford(
        "The cross-talk", remaining, cross_talk_instructions, view=advisor_view, reserve_for=last
    ):
        await table.open_stage("cross_talk")
        await table.all_speak(
            "cross_talk", view=advisor_view, participants=remaining, build_instructions=cross_talk_instructions
        )
    if rules.synthesis and await table.can_afford(
        "The synthesis", remaining[:1], advisor_synthesis_instructions, view=advisor_view
    ):
        await table.open_stage("synthesis", table.revision)
        await table.one_speaks(
            remaining,
            "synthesis",
            round=table.revision,
            view=advisor_view,
            build_instructions=advisor_synthesis_instructions,
            role="synthesis",
        )
