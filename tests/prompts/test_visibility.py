import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.prompts.visibility import (
    VIEWS,
    View,
    advisor_view,
    blind,
    everything,
    lesson_view,
    own_thread,
    view_of_run,
    with_instructions,
)
from moot.types.discussions import Message
from tests.prompts.random_discussions import DiscussionScenario, discussion_scenarios, fewer_examples

for_each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


def visible_messages(view: View, scenario: DiscussionScenario) -> list[Message]:
    return view(scenario.messages, scenario.participant.id, scenario.run)


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_view_excludes_messages_visible_only_to_others(view: View, log: DiscussionScenario) -> None:
    for message in visible_messages(view, log):
        mine = message.participant == log.participant.id
        assert mine or message.visible_to is None or log.participant.id in message.visible_to


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_view_excludes_system_failed_and_empty_messages(view: View, log: DiscussionScenario) -> None:
    for message in visible_messages(view, log):
        assert message.role != "system"
        assert message.status != "failed"
        assert message.content.strip()


@fewer_examples
@given(log=discussion_scenarios())
def test_blind_view_excludes_answers_of_others_in_current_run(log: DiscussionScenario) -> None:
    for message in visible_messages(blind, log):
        if message.run == log.run:
            assert message.role == "user" or message.participant == log.participant.id


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_view_keeps_order_without_duplicates(view: View, log: DiscussionScenario) -> None:
    numbers = [message.seq for message in visible_messages(view, log)]
    assert numbers == sorted(set(numbers))
    assert set(visible_messages(view, log)) <= set(log.messages)


@fewer_examples
@given(log=discussion_scenarios())
def test_view_excludes_messages_only_for_known_reasons(log: DiscussionScenario) -> None:
    for message in set(log.messages) - set(visible_messages(everything, log)):
        mine = message.participant == log.participant.id
        for_others = not mine and message.visible_to is not None and log.participant.id not in message.visible_to
        empty = not message.content.strip()
        apart = message.thread not in {None, log.participant.id}
        over = message.hidden and message.run != log.run
        assert for_others or empty or apart or over or message.role == "system" or message.status == "failed"
    for message in set(visible_messages(everything, log)) - set(visible_messages(blind, log)):
        assert message.run == log.run
        assert message.participant != log.participant.id
        assert message.role != "user"


@for_each_view
@fewer_examples
@given(log=discussion_scenarios(), upto=st.integers(0, 8))
def test_view_of_earlier_messages_is_unchanged_by_later_messages(
    view: View, log: DiscussionScenario, upto: int
) -> None:
    then = view(log.messages[:upto], log.participant.id, log.run)
    now = [message for message in visible_messages(view, log) if message.seq <= upto]
    if view in {with_instructions, advisor_view, lesson_view}:  # newer instructions replace older ones
        then, now = ([message for message in some if not message.hidden] for some in (then, now))
    if view is advisor_view:  # newer turns of the others replace older ones
        own = {None, log.participant.id}
        then, now = ([message for message in some if message.participant in own] for some in (then, now))
    assert then == now


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_view_excludes_threads_of_others_and_hidden_messages_of_earlier_runs(
    view: View, log: DiscussionScenario
) -> None:
    for message in visible_messages(view, log):
        assert message.thread in {None, log.participant.id}
        assert not message.hidden or message.run == log.run


@fewer_examples
@given(log=discussion_scenarios())
def test_own_thread_view_has_only_own_thread_in_current_run(log: DiscussionScenario) -> None:
    for message in visible_messages(own_thread, log):
        if message.run == log.run:
            assert message.thread == log.participant.id or message.role == "user"


@fewer_examples
@given(log=discussion_scenarios())
def test_with_instructions_view_has_only_newest_instructions_of_current_run(log: DiscussionScenario) -> None:
    now = [message for message in visible_messages(with_instructions, log) if message.run == log.run]
    assert len([message for message in now if message.hidden]) <= 1
    assert all(message.hidden or message.role == "user" for message in now)


@fewer_examples
@given(log=discussion_scenarios())
def test_advisor_view_has_one_earlier_run_of_others_and_no_synthesis(
    log: DiscussionScenario,
) -> None:
    of_others = [
        one for one in visible_messages(advisor_view, log) if one.participant not in {None, log.participant.id}
    ]
    assert len({one.run for one in of_others}) <= 1
    assert log.run not in {one.run for one in of_others}
    assert {one.role for one in visible_messages(advisor_view, log)} <= {"user", "assistant"}


def make_message(
    number: int, text: str, participant_id: str | None = None, *, run: str = "now", **fields: object
) -> Message:
    return Message(
        id=str(number),
        discussion="d",
        seq=number,
        run=run,
        role="assistant" if participant_id else "user",
        participant=participant_id,
        content=text,
        **fields,  # type: ignore[arg-type]
    )


MESSAGES = [
    make_message(1, "Why?", run="before"),
    make_message(2, "Because.", "alpha", run="before"),
    make_message(3, "Just so.", "beta", run="before"),
    make_message(4, "Only between us, Beta.", run="aside", visible_to=("beta",)),
    make_message(5, "I see.", "beta", run="aside", visible_to=("beta",)),
    make_message(6, "And now?"),
    make_message(7, "", "alpha", status="failed"),
    make_message(8, "Now th", "beta", status="stopped"),
    make_message(9, "Then.", "alpha", round=1),
]


@pytest.mark.parametrize(
    ("view", "who", "numbers"),
    [
        (everything, "alpha", [1, 2, 3, 6, 8, 9]),
        (everything, "beta", [1, 2, 3, 4, 5, 6, 8, 9]),
        (blind, "alpha", [1, 2, 3, 6, 9]),
        (blind, "beta", [1, 2, 3, 4, 5, 6, 8]),
        (blind, "gamma", [1, 2, 3, 6]),
        (advisor_view, "alpha", [1, 2, 3, 6, 9]),
        (advisor_view, "beta", [1, 3, 4, 5, 6, 8]),
        (advisor_view, "gamma", [1, 2, 3, 6]),
    ],
)
def test_view_matches_expected_messages_for_each_participant(view: View, who: str, numbers: list[int]) -> None:
    assert [message.seq for message in view(MESSAGES, who, "now")] == numbers


@fewer_examples
@given(log=discussion_scenarios())
def test_lesson_view_has_all_messages_but_only_newest_instructions(log: DiscussionScenario) -> None:
    shown, all_of_it = visible_messages(lesson_view, log), visible_messages(everything, log)
    instructions = [message for message in all_of_it if message.hidden]
    assert shown == [message for message in all_of_it if message not in instructions[:-1]]
    for message in shown:
        meant = {*(message.visible_to or ()), message.participant}
        assert not message.hidden or message.visible_to is None or log.participant.id in meant


def test_lesson_view_excludes_instructions_for_others() -> None:
    instructions = [
        make_message(number, f"Brief {number}", hidden=True, visible_to=(who,))
        for number, who in ((10, "alpha"), (11, "beta"), (12, "alpha"), (13, "beta"))
    ]
    log = [*MESSAGES, *instructions]
    assert [m.seq for m in lesson_view(log, "alpha", "now") if m.hidden] == [12]
    assert [m.seq for m in lesson_view(log, "gamma", "now") if m.hidden] == []
    assert [m.seq for m in lesson_view(log, "beta", "next") if m.hidden] == []


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_view_of_run_equals_view_at_that_time(view: View, log: DiscussionScenario) -> None:
    then = view_of_run(log.run, view.__name__)
    assert then(log.messages, log.participant.id, "run_later") == visible_messages(view, log)
    assert then.__name__ == view.__name__
