import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.json_array.detect import find_answer_start, is_answer_start

JSON_FRAGMENTS = st.lists(
    st.sampled_from([*"[]{}\"',:/ \n`a1-", '{"type":', '"key":', "true", "//", "/*", "*/", "key:"]),
    max_size=12,
).map("".join)


@pytest.mark.parametrize(
    "written",
    [
        'So: [{"a',
        'So: [ // x\n {"a',
        "So: [{'a",
        "So: [{key:",
        'So: [[{"a',
        "So: [{}",
        '["a',
        "['a",
        'So:\n["a',
        '```json ["a',
        "[]\n",
        "So:\n[ ]\n",
        "[1, ",
        "[null, ",
        "[[1, 2]",
        "[[]",
        "[[[[[[",
        'So: {"type":',
        'So:\n{"name":',
        "{type:",
    ],
)
def test_find_answer_start_finds_array_or_object(written: str) -> None:
    at, found = find_answer_start(written, 0, is_final=False)
    assert found is True
    assert at == min(written.find(mark) for mark in "[{" if mark in written)


@pytest.mark.parametrize(
    "written",
    [
        "[some]",
        "See [1].",
        "[1] is",
        "- [ ] box",
        "Use [] so",
        'x = ["a"]',
        "[[link]]",
        "{name}",
        'In {"a": 1} there is no type.',
        "{ }",
        "[//]: x]\ny z",
        "[{name}] and all that.",
        "[truly, madly",
    ],
)
def test_find_answer_start_ignores_brackets_in_prose(written: str) -> None:
    assert find_answer_start(written, 0, is_final=False) == (len(written), False)


@pytest.mark.parametrize("half", ["[", "[ /", "[{", "[[", "{", '{"ty', "[1", "[]"])
def test_find_answer_start_waits_for_incomplete_opening(half: str) -> None:
    assert find_answer_start(half, 0, is_final=False) == (0, None)
    assert find_answer_start(half, 0, is_final=True) == (0, True)
    assert find_answer_start("x " + half, 0, is_final=True)[1] is False


@given(JSON_FRAGMENTS)
def test_is_answer_start_never_changes_with_later_text(written: str) -> None:
    for at in (at for at, mark in enumerate(written) if mark in "[{"):
        answers = [is_answer_start(written[:length], at) for length in range(at + 1, len(written) + 1)]
        given = [answer for answer in answers if answer is not None]
        assert len(set(given)) <= 1
        assert given == answers[len(answers) - len(given) :]
