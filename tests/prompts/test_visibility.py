import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.prompts.visibility import (
    VIEWS,
    View,
    advised,
    blind,
    briefed,
    everything,
    in_lesson,
    own_thread,
    view_of_run,
)
from moot.types.discussions import Message
from tests.prompts.logs import DiscussionScenario, discussion_scenarios, fewer_examples

for_each_view = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


def visible_messages(view: View, scenario: DiscussionScenario) -> list[Message]:
    return view(scenario.messages, scenario.participant.id, scenario.run)


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_nobody_sees_what_is_meant_for_others(view: View, log: DiscussionScenario) -> None:
    for message in visible_messages(view, log):
        mine = message.participant == log.participant.id
        assert mine or message.audience is None or log.participant.id in message.audience


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_nobody_is_told_what_was_never_said(view: View, log: DiscussionScenario) -> None:
    for message in visible_messages(view, log):
        assert message.role != "system"
        assert message.status != "failed"
        assert message.content.strip()


@fewer_examples
@given(log=discussion_scenarios())
def test_the_blind_do_not_see_each_other_s_words_of_this_run(log: DiscussionScenario) -> None:
    for message in visible_messages(blind, log):
        if message.run == log.run:
            assert message.role == "user" or message.participant == log.participant.id


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_what_is_seen_was_said_once_and_in_that_order(view: View, log: DiscussionScenario) -> None:
    numbers = [message.number for message in visible_messages(view, log)]
    assert numbers == sorted(set(numbers))
    assert set(visible_messages(view, log)) <= set(log.messages)


@fewer_examples
@given(log=discussion_scenarios())
def test_what_is_not_seen_has_a_reason(log: DiscussionScenario) -> None:
    for message in set(log.messages) - set(visible_messages(everything, log)):
        mine = message.participant == log.participant.id
        for_others = not mine and message.audience is not None and log.participant.id not in message.audience
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
def test_what_is_said_later_does_not_change_what_was_seen(
    view: View, log: DiscussionScenario, upto: int
) -> None:
    then = view(log.messages[:upto], log.participant.id, log.run)
    now = [message for message in visible_messages(view, log) if message.number <= upto]
    if view in {briefed, advised, in_lesson}:  # a newer brief takes the place of an older one
        then, now = ([message for message in some if not message.hidden] for some in (then, now))
    if view is advised:  # and a newer turn of the others that of an older one
        own = {None, log.participant.id}
        then, now = ([message for message in some if message.participant in own] for some in (then, now))
    assert then == now


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_nobody_looks_into_another_s_thread_nor_into_a_prompt_of_an_earlier_run(
    view: View, log: DiscussionScenario
) -> None:
    for message in visible_messages(view, log):
        assert message.thread in {None, log.participant.id}
        assert not message.hidden or message.run == log.run


@fewer_examples
@given(log=discussion_scenarios())
def test_in_a_thread_of_one_s_own_nobody_else_speaks(log: DiscussionScenario) -> None:
    for message in visible_messages(own_thread, log):
        if message.run == log.run:
            assert message.thread == log.participant.id or message.role == "user"


@fewer_examples
@given(log=discussion_scenarios())
def test_a_brief_is_all_that_whoever_sums_up_is_told_of_this_run(log: DiscussionScenario) -> None:
    now = [message for message in visible_messages(briefed, log) if message.run == log.run]
    assert len([message for message in now if message.hidden]) <= 1
    assert all(message.hidden or message.role == "user" for message in now)


@fewer_examples
@given(log=discussion_scenarios())
def test_an_advisor_sees_of_the_others_only_one_turn_before_this_one_and_no_synthesis(
    log: DiscussionScenario,
) -> None:
    of_others = [
        one for one in visible_messages(advised, log) if one.participant not in {None, log.participant.id}
    ]
    assert len({one.run for one in of_others}) <= 1
    assert log.run not in {one.run for one in of_others}
    assert {one.role for one in visible_messages(advised, log)} <= {"user", "assistant"}


def make_message(
    number: int, text: str, participant_id: str | None = None, *, run: str = "now", **fields: object
) -> Message:
    return Message(
        id=str(number),
        discussion="d",
        number=number,
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
    make_message(4, "Only between us, Beta.", run="aside", audience=("beta",)),
    make_message(5, "I see.", "beta", run="aside", audience=("beta",)),
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
        (advised, "alpha", [1, 2, 3, 6, 9]),
        (advised, "beta", [1, 3, 4, 5, 6, 8]),
        (advised, "gamma", [1, 2, 3, 6]),
    ],
)
def test_a_discussion_as_it_is_seen_from_each_seat(view: View, who: str, numbers: list[int]) -> None:
    assert [message.number for message in view(MESSAGES, who, "now")] == numbers


@fewer_examples
@given(log=discussion_scenarios())
def test_in_a_lesson_one_reads_all_that_was_said_and_only_one_s_newest_brief(log: DiscussionScenario) -> None:
    shown, all_of_it = visible_messages(in_lesson, log), visible_messages(everything, log)
    briefs = [message for message in all_of_it if message.hidden]
    assert shown == [message for message in all_of_it if message not in briefs[:-1]]
    for message in shown:
        meant = {*(message.audience or ()), message.participant}
        assert not message.hidden or message.audience is None or log.participant.id in meant


def test_nobody_reads_another_s_brief_in_a_lesson() -> None:
    briefs = [
        make_message(number, f"Brief {number}", hidden=True, audience=(who,))
        for number, who in ((10, "alpha"), (11, "beta"), (12, "alpha"), (13, "beta"))
    ]
    log = [*MESSAGES, *briefs]
    assert [m.number for m in in_lesson(log, "alpha", "now") if m.hidden] == [12]
    assert [m.number for m in in_lesson(log, "gamma", "now") if m.hidden] == []
    assert [m.number for m in in_lesson(log, "beta", "next") if m.hidden] == []


@for_each_view
@fewer_examples
@given(log=discussion_scenarios())
def test_what_was_seen_in_an_earlier_run_is_seen_so_from_any_other(
    view: View, log: DiscussionScenario
) -> None:
    then = view_of_run(log.run, view.__name__)
    assert then(log.messages, log.participant.id, "run_later") == visible_messages(view, log)
    assert then.__name__ == view.__name__
