from moot.types.streams import HEARTBEAT, BatchStream


async def stream() -> BatchStream[int]:
    yield [1]
    yield HEARTBEAT
    yield [2, 3]


async def test_heartbeat_has_no_contents() -> None:
    assert [number async for batch in stream() for number in batch] == [1, 2, 3]


async def test_heartbeat_differs_from_an_empty_batch() -> None:
    assert [batch is HEARTBEAT async for batch in stream()] == [False, True, False]
