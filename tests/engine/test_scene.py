"""The transcript that turns are taken on, and the fake of it, keep to one seam."""

import inspect

import pytest

from moot.context.views import everything
from moot.engine.record import Record
from moot.engine.scene import Manner, Transcript
from tests.engine.tables import Said


@pytest.mark.parametrize("transcript", [Record, Said])
@pytest.mark.parametrize("method", ["is_open", "append", "keep", "forget"])
def test_it_is_called_in_one_way(transcript: type[Transcript], method: str) -> None:
    wanted, given = (inspect.signature(getattr(one, method)).parameters for one in (Transcript, transcript))
    assert list(given) == list(wanted)


def test_usually_everything_is_seen_and_nothing_told_before() -> None:
    manner = Manner()
    assert (manner.view, manner.instruction, manner.brief, manner.then) == (everything, "", None, None)
