from typing import Any

import msgspec
import pytest

from moot.types.personas import (
    CATEGORIES,
    MAX_PROPOSALS,
    PersonaChange,
    PersonaDraft,
    Proposal,
    SituationAnswer,
    level_for_uses,
)


@pytest.mark.parametrize(("uses", "reached"), [(0, 1), (9, 1), (10, 2), (19, 2), (20, 3), (1000, 101)])
def test_level_grows_every_ten_uses(uses: int, reached: int) -> None:
    assert level_for_uses(uses) == reached


@pytest.mark.parametrize(
    "fields",
    [{"description": "Doubts."}, {"system_prompt": "Doubt."}, {"description": "a", "colour": "#AbCdEf"}],
)
def test_persona_draft_accepts_description_or_system_prompt(fields: dict[str, Any]) -> None:
    assert msgspec.convert({"name": "Sceptic", **fields}, PersonaDraft).name == "Sceptic"


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("system_prompt", {"name": "Sceptic", "description": "  "}),
        ("name", {"description": "Doubts."}),
        ("name", {"name": "", "description": "Doubts."}),
        ("description", {"name": "Sceptic", "description": "x" * 4001}),
        ("traits", {"name": "Sceptic", "description": "Doubts.", "traits": ["a"] * 21}),
        ("traits", {"name": "Sceptic", "description": "Doubts.", "traits": ["x" * 61]}),
        ("colour", {"name": "Sceptic", "description": "Doubts.", "colour": "red"}),
        ("colour", {"name": "Sceptic", "description": "Doubts.", "colour": "#ffffff\n"}),
        ("uses", {"name": "Sceptic", "description": "Doubts.", "uses": 1000}),
    ],
)
def test_invalid_persona_draft_is_rejected_by_field(field: str, fields: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=field):
        msgspec.convert(fields, PersonaDraft)


def test_persona_change_has_only_given_fields() -> None:
    change = msgspec.json.decode(b'{"colour": ""}', type=PersonaChange)
    assert msgspec.to_builtins(change) == {"colour": ""}


HYPATIA = {
    "name": "Hypatia",
    "category": "thinker",
    "description": "You are Hypatia of Alexandria.",
    "rationale": "She taught under pressure.",
}


def test_proposals_have_two_of_each_of_four_categories() -> None:
    assert (CATEGORIES, MAX_PROPOSALS) == (("thinker", "figure", "role", "challenger"), 8)


def test_proposal_fits_persona_draft() -> None:
    proposal = msgspec.convert(HYPATIA, Proposal)
    draft = PersonaDraft(name=proposal.name, description=proposal.description, category=proposal.category)
    assert msgspec.convert(msgspec.to_builtins(draft), PersonaDraft) == draft


@pytest.mark.parametrize("wrong", [{"category": "friend"}, {"name": ""}, {"description": ""}, {"name": "x" * 61}])
def test_invalid_proposal_is_rejected(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(HYPATIA | wrong, Proposal)


def test_situation_answer_may_be_empty_but_not_its_question() -> None:
    assert msgspec.convert({"question": "Why?", "answer": ""}, SituationAnswer).answer == ""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"question": "", "answer": "So."}, SituationAnswer)
