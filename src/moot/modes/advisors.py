"""Advisors: all answer at the same time, each in its own thread with the person.

They may then answer each other, once, and the first of them may say what it all comes to.
"""

from moot.modes.table import Table, answered
from moot.prompts.advisors import draw_together, talk_back
from moot.prompts.visibility import advised


async def advisors(table: Table) -> None:
    plan, rules = table.plan, table.plan.advisors
    if not plan.advised:  # nobody is active: a plain answer
        await table.speak(plan.speaking[0])
        return
    await table.open_stage("answer")
    standing = answered(plan, await table.all_speak(view=advised))
    if len(standing) < 2:
        if standing and (rules.cross_talk or rules.synthesis):
            await table.tell(
                "missing", f"Only {standing[0].name} answered: there is nothing to draw together."
            )
        return
    last = draw_together if rules.synthesis else None
    if rules.cross_talk and await table.affords(
        "The cross-talk", standing, talk_back, view=advised, keeping=last
    ):
        await table.open_stage("cross_talk")
        await table.all_speak("cross_talk", view=advised, who=standing, brief=talk_back)
    if rules.synthesis and await table.affords("The synthesis", standing[:1], draw_together, view=advised):
        await table.open_stage("synthesis", table.revision)
        await table.one_speaks(
            standing, "synthesis", round=table.revision, view=advised, brief=draw_together, role="synthesis"
        )
