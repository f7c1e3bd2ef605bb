"""Consensus mode: in each round participants speak in turn and see all earlier messages."""

from moot.modes.table import Table
from moot.prompts.visibility import everything


async def consensus(table: Table) -> None:
    # A single participant would only respond to its own messages, so one round is enough.
    rounds = table.plan.rounds if len(table.plan.responding_participants) > 1 else 1
    for round_ in range(rounds):
        if round_ and not await table.can_afford(f"Round {round_ + 1}", table.plan.responding_participants):
            return
        await table.open_stage("round", round_)
        for participant in table.plan.responding_participants:
            await table.speak(participant, "round", round=round_, view=everything)
