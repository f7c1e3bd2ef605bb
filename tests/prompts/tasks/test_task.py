from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.tasks.task import MOST_TOKENS, basis, requested
from moot.prompts.templates import written
from moot.types.requests import user

words = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5), max_size=4
)


def test_a_request_is_a_prompt_and_its_material_and_nobody_s_model_yet() -> None:
    request = requested("judge_the_answers", "### Answer A\n{So} it is.")
    assert request.system == written("judge_the_answers")
    assert request.messages == (user("### Answer A\n{So} it is."),)
    assert (request.model, request.max_tokens, request.temperature) == ("", MOST_TOKENS, None)


def test_a_basis_is_short_and_the_same_tomorrow() -> None:
    assert basis("summary", "What was said.") == snapshot("67762c4e26246b0b5da9b003")


@given(words, words)
def test_the_same_parts_have_the_same_basis_and_others_another_one(one: list[str], other: list[str]) -> None:
    assert (basis("kind", *one) == basis("kind", *other)) == (one == other)
