from inline_snapshot import snapshot

from moot.modes.directed import directed
from moot.types.events import SpeakerSelected
from moot.types.modes import DirectedOptions
from tests.modes.fake_table import FakeTable, plan


async def test_director_selects_speakers_until_max_turns() -> None:
    table = FakeTable(plan("directed", 3, directed=DirectedOptions(turns=3, first_speaker="beta")))
    await directed(table)
    assert table.log == snapshot(
        [
            "concluded: SpeakerSelected",
            "turn 0",
            "turn/0/beta sees lesson_view",
            "alpha (a/one) looks for director in vain",
            "concluded: SpeakerSelected",
            "turn 1",
            "turn/1/alpha sees lesson_view",
            "alpha (a/one) looks for director in vain",
            "concluded: SpeakerSelected",
            "turn 2",
            "turn/2/gamma sees lesson_view",
            "concluded: SpeakerSelected",
        ]
    )


async def test_director_model_can_hand_over_to_user() -> None:
    chosen = SpeakerSelected(cache_key="b", turn=1, next="USER", reason="A question is open.", decided_by="model")
    table = FakeTable(
        plan("directed", 2, directed=DirectedOptions(first_speaker="alpha"), task_model="a/cheap"),
        results={"director": [chosen]},
    )
    await directed(table)
    assert table.log == snapshot(
        [
            "concluded: SpeakerSelected",
            "turn 0",
            "turn/0/alpha sees lesson_view",
            "alpha (a/cheap) looks for director",
            "concluded: SpeakerSelected",
        ]
    )


async def test_single_participant_speaks_once() -> None:
    table = FakeTable(plan("directed", 1))
    await directed(table)
    assert table.log == snapshot(
        ["concluded: SpeakerSelected", "turn 0", "turn/0/alpha sees lesson_view", "concluded: SpeakerSelected"]
    )


async def test_lesson_ends_after_two_failed_turns() -> None:
    ends = {"alpha": ["failed"], "beta": ["failed"], "gamma": ["failed"]}
    table = FakeTable(plan("directed", 3, directed=DirectedOptions(first_speaker="alpha")), ends)  # type: ignore[arg-type]
    await directed(table)
    assert [line for line in table.log if " sees " in line] == snapshot(
        ["turn/0/alpha sees lesson_view: failed", "turn/1/beta sees lesson_view: failed"]
    )


async def test_stopped_participant_is_not_selected_again() -> None:
    table = FakeTable(
        plan("directed", 2, directed=DirectedOptions(turns=4, first_speaker="alpha")), {"alpha": ["stopped"]}
    )
    await directed(table)
    assert [line for line in table.log if " sees " in line] == snapshot(
        ["turn/0/alpha sees lesson_view: stopped", "turn/1/beta sees lesson_view"]
    )


async def test_lesson_ends_when_turn_is_unaffordable() -> None:
    table = FakeTable(plan("directed", 2, directed=DirectedOptions(first_speaker="alpha")), unaffordable=["Turn 2"])
    await directed(table)
    assert [line for line in table.log if " sees " in line] == snapshot(["turn/0/alpha sees lesson_view"])
