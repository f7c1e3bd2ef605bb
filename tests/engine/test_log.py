import asyncio
from collections.abc import Sequence

from moot.engine.log import RunLog
from moot.model.events import Event, RunEnded, RunStarted


async def test_events_are_numbered_without_gaps_and_stamped() -> None:
    read: list[Event] = []

    def reader(events: Sequence[Event]) -> None:
        read.extend(events)

    log = RunLog(reader)
    await log.append([RunStarted(participants=())])
    await log.append([RunEnded(status="completed"), RunEnded(status="completed")])
    assert [event.seq for event in read] == [1, 2, 3]
    assert {event.run for event in read} == {log.run}
    assert all(event.at > 0 for event in read)
    assert [event.at for event in read] == sorted(event.at for event in read)


async def test_a_reader_that_takes_its_time_is_waited_for() -> None:
    read: list[Event] = []

    async def reader(events: Sequence[Event]) -> None:
        await asyncio.sleep(0)
        read.extend(events)

    await RunLog(reader).append([RunStarted(participants=())])
    assert len(read) == 1
