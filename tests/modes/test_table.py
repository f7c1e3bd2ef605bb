"""Properties of every mode."""

from collections.abc import Mapping
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.modes import PROGRAMS
from moot.modes.table import Table
from moot.prompts.library import load_template
from moot.prompts.visibility import VIEWS
from moot.types.events import TurnStatus
from moot.types.modes import MODES, DirectedOptions
from tests.modes.fake_table import FakeTable, plan

turn_status_lists = st.dictionaries(
    st.sampled_from(["alpha", "beta", "gamma"]),
    st.lists(st.sampled_from(get_args(TurnStatus)), max_size=6),
)


@pytest.mark.parametrize("mode", PROGRAMS)
@given(ends=turn_status_lists, participants=st.integers(1, 3), rounds=st.integers(1, 4), turns=st.integers(1, 9))
async def test_every_mode_ends_and_names_every_turn_uniquely(
    mode: str, ends: Mapping[str, list[TurnStatus]], participants: int, rounds: int, turns: int
) -> None:
    table = FakeTable(plan(mode, participants, rounds=rounds, turns=turns, directed=DirectedOptions(turns=turns)), ends)
    at: Table = table
    await PROGRAMS[mode](at)
    spoken = [line for line in table.log if " sees " in line]
    assert 1 <= len(spoken) <= participants * (rounds + 2) + max(turns, table.plan.directed.turns)
    assert all(any(f"sees {view}" in line for view in VIEWS) for line in spoken)
    assert {line.partition("/")[0] for line in spoken} <= {*MODES[mode].stages}


def test_every_mode_has_a_program_and_an_identity_template() -> None:
    assert PROGRAMS.keys() == MODES.keys()
    assert all(load_template(spec.identity) for spec in MODES.values())
