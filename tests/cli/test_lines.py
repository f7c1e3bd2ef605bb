import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from moot.cli.lines import Piped


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    read, write = os.pipe()
    yield read, write
    os.close(read)


async def test_lines_come_one_by_one_however_they_were_cut(pipe: tuple[int, int]) -> None:
    read, write = pipe
    lines = Piped(read)
    os.write(write, b"one\ntwo\nth")
    assert [await lines.next(), await lines.next()] == ["one", "two"]
    coming = asyncio.create_task(lines.next())
    os.write(write, "rée\n\n".encode())
    assert [await coming, await lines.next()] == ["thrée", ""]
    os.write(write, b"last, without an end")
    os.close(write)
    assert [await lines.next(), await lines.next(), await lines.next()] == [
        "last, without an end",
        None,
        None,
    ]


async def test_another_encoding_is_mended(pipe: tuple[int, int]) -> None:
    read, write = pipe
    os.write(write, "Grüße\n".encode("latin-1"))
    os.close(write)
    assert await Piped(read).next() == "Gr\ufffd\ufffde"


async def test_ctrl_c_ends_the_waiting_and_loses_nothing(pipe: tuple[int, int]) -> None:
    read, write = pipe
    lines = Piped(read)
    asyncio.get_running_loop().call_later(0.05, os.kill, os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        await lines.next()
    os.write(write, b"still here\n")
    os.close(write)
    assert await lines.next() == "still here"


async def test_what_cannot_be_read_is_at_its_end(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    async with asyncio.timeout(60):
        assert await Piped(folder).next() is None
    os.close(folder)
