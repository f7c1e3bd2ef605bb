import tomllib

import msgspec
import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.context.library import part, read, shipped
from moot.model.personas import Persona


def test_the_library_is_a_round_table_of_its_own() -> None:
    assert {one.id: one.name for one in shipped()} == snapshot(
        {
            "shipped_advocate": "Advocate",
            "shipped_editor": "Plain-language editor",
            "shipped_engineer": "Engineer",
            "shipped_historian": "Historian",
            "shipped_product": "Product mind",
            "shipped_sceptic": "Sceptic",
            "shipped_scientist": "Scientist",
            "shipped_security": "Security reviewer",
            "shipped_systems": "Systems thinker",
            "shipped_teacher": "Teacher",
        }
    )


@pytest.mark.parametrize("persona", shipped(), ids=lambda one: one.id)
def test_every_shipped_persona_is_worth_choosing(persona: Persona) -> None:
    assert persona.shipped
    assert persona.description.endswith(".")
    assert persona.traits
    assert persona.specialisations
    assert persona.colour
    assert 120 <= len(persona.system_prompt.split()) <= 220


def test_no_two_are_alike() -> None:
    assert len({one.colour for one in shipped()}) == len(shipped())
    assert len({one.system_prompt.split(".")[0] for one in shipped()}) == len(shipped())


def test_a_file_is_fields_and_a_prompt() -> None:
    cook = read("cook", '+++\nname = "Cook"\ntraits = ["warm"]\n+++\nYou cook.\n\n+++\nAnd more.\n')
    assert (cook.id, cook.name, cook.traits) == ("shipped_cook", "Cook", ("warm",))
    assert cook.system_prompt == "You cook.\n\n+++\nAnd more."


def test_a_file_that_is_not_right_does_not_pass() -> None:
    with pytest.raises(msgspec.ValidationError, match="flavour"):
        read("cook", '+++\nname = "Cook"\nflavour = "sweet"\n+++\nYou cook.\n')
    with pytest.raises(tomllib.TOMLDecodeError):
        read("cook", "+++\nname: Cook\n+++\nYou cook.\n")


def test_the_part_is_the_prompt_or_else_what_is_known() -> None:
    sceptic = next(one for one in shipped() if one.id == "shipped_sceptic")
    assert part(sceptic) == sceptic.system_prompt
    assert part(replace(sceptic, system_prompt=" ")) == snapshot(
        """\
You take the part of Sceptic.

Looks for where a claim would break, and says what would convince.

You are doubtful, fair, exact.

You know most about arguments, evidence, hidden assumptions.\
"""
    )
