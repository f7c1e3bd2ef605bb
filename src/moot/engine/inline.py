"""A run in this process, with nothing stored: one question, all participants at the same time."""

import asyncio
from collections.abc import Sequence

from msgspec import Struct

from moot.engine.log import RunLog
from moot.engine.speaker import Speaker
from moot.model.events import RunEnded, RunStarted, RunStatus, Seat, TurnStatus
from moot.model.participants import Participant
from moot.model.requests import ModelRequest
from moot.providers.registry import Resolved
from moot.streams.stop import Stop


class Lane(Struct, frozen=True):
    """A participant and the models that may speak for it, the chosen one first."""

    participant: Participant
    chain: tuple[Resolved, ...]


async def ask(
    lanes: Sequence[Lane], request: ModelRequest, log: RunLog, speaker: Speaker, stop: Stop
) -> RunEnded:
    await log.append([RunStarted(participants=tuple(lane.participant for lane in lanes))])
    async with asyncio.TaskGroup() as group:
        turns = [
            group.create_task(
                speaker.speak(Seat(lane.participant.id), lane.chain, request, Stop(stop), log.append)
            )
            for lane in lanes
        ]
    ended = RunEnded(status=run_status([turn.result().status for turn in turns]))
    await log.append([ended])
    return ended


def run_status(turns: Sequence[TurnStatus]) -> RunStatus:
    """Sum up a run: stopped if anybody was, failed if nobody finished."""
    if "stopped" in turns:
        return "stopped"
    if "interrupted" in turns:
        return "interrupted"
    return "completed" if "completed" in turns else "failed"
