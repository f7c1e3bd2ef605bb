from typing import Any

import pytest

from moot import DebateOptions, DirectedOptions, Moot, ParticipantSpec, UsageError
from moot.sdk.participants import build_participants, participant_prompt, validate_arguments
from moot.types.errors import NotFound
from moot.types.modes import AdvisorOptions

TWO_MODELS = ["scripted/echo", "scripted/steady"]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"mode": "bogus"}, "mode: Invalid enum value 'bogus'. Use one of "),
        ({"rounds": 99}, "rounds: Expected `int` <= 10."),
        ({"rounds": 0}, "rounds: Expected `int` >= 1."),
        ({"max_cost_usd": -1}, "max_cost_usd: Expected `float` > 0"),
        ({"models": "scripted/echo"}, "models: Expected `array`, got `str`."),
        ({"models": [5]}, r"models\[0\]: Expected `str \| object`, got `int`."),
        (
            {"models": [ParticipantSpec(model="scripted/echo", temperature=9)]},
            r"models\[0\].temperature: Expected `float` <= 2",
        ),
        (
            {"models": TWO_MODELS, "mode": "debate", "options": DebateOptions(lead="zed")},
            "debate.lead: there is no participant 'zed'",
        ),
        (
            {"models": TWO_MODELS, "mode": "debate", "options": DebateOptions(quorum=3)},
            "debate.quorum: only 2 take part",
        ),
        ({"mode": "directed", "options": DirectedOptions(turns=99)}, "directed.turns: Expected `int` <="),
    ],
)
async def test_invalid_option_is_rejected_by_name(wanted: dict[str, Any], words: str) -> None:
    async with Moot() as moot:
        with pytest.raises(UsageError, match=words):
            await moot.ask(**{"question": "Why?", "models": ["scripted/echo"], **wanted})


def test_participant_prompt_may_be_long_and_options_are_kept() -> None:
    participant = ParticipantSpec(model="scripted/echo", prompt="x" * 100_000)
    options = validate_arguments((participant,), "advisors", AdvisorOptions(synthesis=True), 2, None)
    assert options.advisors is not None
    assert options.advisors == AdvisorOptions(synthesis=True)


def test_every_participant_gets_a_name() -> None:
    wanted: list[str | ParticipantSpec] = [
        "x/a",
        ParticipantSpec(model="x/b", name="Ada"),
        ParticipantSpec(model="x/c", persona="sceptic"),
        "x/d",
    ]
    assert [(who.id, who.name, who.model) for who, _ in build_participants(wanted, None)] == [
        ("alpha", "Alpha", "x/a"),
        ("ada", "Ada", "x/b"),
        ("sceptic", "Sceptic", "x/c"),
        ("delta", "Delta", "x/d"),
    ]


def test_duplicate_names_are_rejected() -> None:
    with pytest.raises(UsageError, match="'Ada' is used twice"):
        build_participants([ParticipantSpec(model="x/a", name="Ada")] * 2, None)


def test_first_participant_teaches_unless_role_is_given() -> None:
    wanted: list[str | ParticipantSpec] = ["x/a", "x/b", ParticipantSpec(model="x/c", role="assistant")]
    assert [who.role for who, _ in build_participants(wanted, "directed")] == [
        "teacher",
        "student",
        "assistant",
    ]


def test_participant_prompt_combines_persona_and_instructions() -> None:
    assert participant_prompt(ParticipantSpec(model="x/a", prompt="Be Ada."), "Be brief.") == "Be Ada.\n\nBe brief."
    assert participant_prompt(ParticipantSpec(model="x/a", persona="Sceptic"), "").strip()
    with pytest.raises(NotFound, match="Sceptic"):
        participant_prompt(ParticipantSpec(model="x/a", persona="nobody"), "")
