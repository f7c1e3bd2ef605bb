import msgspec
import pytest

from moot.model.personas import PersonaDraft
from moot.model.perspectives import CATEGORIES, PROPOSALS, Proposal, Reply

HYPATIA = {
    "name": "Hypatia",
    "category": "thinker",
    "description": "You are Hypatia of Alexandria.",
    "rationale": "She taught under pressure.",
}


def test_there_are_two_of_each_of_four_categories() -> None:
    assert (CATEGORIES, PROPOSALS) == (("thinker", "figure", "role", "challenger"), 8)


def test_a_proposal_fits_what_a_persona_is_made_of() -> None:
    proposal = msgspec.convert(HYPATIA, Proposal)
    draft = PersonaDraft(name=proposal.name, description=proposal.description, category=proposal.category)
    assert msgspec.convert(msgspec.to_builtins(draft), PersonaDraft) == draft


@pytest.mark.parametrize(
    "wrong", [{"category": "friend"}, {"name": ""}, {"description": ""}, {"name": "x" * 61}]
)
def test_what_could_be_no_persona_is_no_proposal(wrong: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(HYPATIA | wrong, Proposal)


def test_an_answer_may_be_empty_but_not_its_question() -> None:
    assert msgspec.convert({"question": "Why?", "answer": ""}, Reply).answer == ""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"question": "", "answer": "So."}, Reply)
