from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.tasks.task import MAX_ANSWER_TOKENS, analysis_request, make_cache_key
from moot.prompts.templates import load_template
from moot.types.requests import user_message

text_lists = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5), max_size=4
)


def test_a_request_is_a_prompt_and_its_material_and_nobody_s_model_yet() -> None:
    request = analysis_request("judge_the_answers", "### Answer A\n{So} it is.")
    assert request.system == load_template("judge_the_answers")
    assert request.messages == (user_message("### Answer A\n{So} it is."),)
    assert (request.model, request.max_tokens, request.temperature) == ("", MAX_ANSWER_TOKENS, None)


def test_a_basis_is_short_and_the_same_tomorrow() -> None:
    assert make_cache_key("summary", "What was said.") == snapshot("67762c4e26246b0b5da9b003")


@given(text_lists, text_lists)
def test_the_same_parts_have_the_same_basis_and_others_another_one(one: list[str], other: list[str]) -> None:
    assert (make_cache_key("kind", *one) == make_cache_key("kind", *other)) == (one == other)
