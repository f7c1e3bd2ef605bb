from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.library import load_template
from moot.prompts.tasks.task import MAX_ANSWER_TOKENS, make_cache_key, task_request
from moot.types.requests import user_message

text_lists = st.lists(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=5), max_size=4
)


def test_task_request_has_template_and_material_but_no_model() -> None:
    request = task_request("ranking", "### Answer A\n{So} it is.")
    assert request.system == load_template("ranking")
    assert request.messages == (user_message("### Answer A\n{So} it is."),)
    assert (request.model, request.max_tokens, request.temperature) == ("", MAX_ANSWER_TOKENS, None)


def test_make_cache_key_is_short_and_stable() -> None:
    assert make_cache_key("summary", "What was said.") == snapshot("67762c4e26246b0b5da9b003")


@given(text_lists, text_lists)
def test_make_cache_key_is_equal_only_for_equal_parts(one: list[str], other: list[str]) -> None:
    assert (make_cache_key("kind", *one) == make_cache_key("kind", *other)) == (one == other)
