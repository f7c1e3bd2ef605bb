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
from tests.prompts.logs import Log, costly, logs

views = pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS.keys())


def seen(view: View, log: Log) -> list[Message]:
    return view(log.said, log.who.id, log.run)


@views
@costly
@given(log=logs())
def test_nobody_sees_what_is_meant_for_others(view: View, log: Log) -> None:
    for message in seen(view, log):
        mine = message.participant == log.who.id
        assert mine or message.audience is None or log.who.id in message.audience


@views
@costly
@given(log=logs())
def test_nobody_is_told_what_was_never_said(view: View, log: Log) -> None:
    for message in seen(view, log):
        assert message.role != "system"
        assert message.status != "failed"
        assert message.content.strip()


@costly
@given(log=logs())
def test_the_blind_do_not_see_each_other_s_words_of_this_run(log: Log) -> None:
    for message in seen(blind, log):
        if message.run == log.run:
            assert message.role == "user" or message.participant == log.who.id


@views
@costly
@given(log=logs())
def test_what_is_seen_was_said_once_and_in_that_order(view: View, log: Log) -> None:
    numbers = [message.number for message in seen(view, log)]
    assert numbers == sorted(set(numbers))
    assert set(seen(view, log)) <= set(log.said)


@costly
@given(log=logs())
def test_what_is_not_seen_has_a_reason(log: Log) -> None:
    for message in set(log.said) - set(seen(everything, log)):
        mine = message.participant == log.who.id
        for_others = not mine and message.audience is not None and log.who.id not in message.audience
        empty = not message.content.strip()
        apart = message.thread not in {None, log.who.id}
        over = message.hidden and message.run != log.run
        assert for_others or empty or apart or over or message.role == "system" or message.status == "failed"
    for message in set(seen(everything, log)) - set(seen(blind, log)):
        assert message.run == log.run
        assert message.participant != log.who.id
        assert message.role != "user"


@views
@costly
@given(log=logs(), upto=st.integers(0, 8))
def test_what_is_said_later_does_not_change_what_was_seen(view: View, log: Log, upto: int) -> None:
    then = view(log.said[:upto], log.who.id, log.run)
    now = [message for message in seen(view, log) if message.number <= upto]
    if view in {briefed, advised, in_lesson}:  # a newer brief takes the place of an older one
        then, now = ([message for message in some if not message.hidden] for some in (then, now))
    if view is advised:  # and a newer turn of the others that of an older one
        own = {None, log.who.id}
        then, now = ([message for message in some if message.participant in own] for some in (then, now))
    assert then == now


@views
@costly
@given(log=logs())
def test_nobody_looks_into_another_s_thread_nor_into_a_prompt_of_an_earlier_run(view: View, log: Log) -> None:
    for message in seen(view, log):
        assert message.thread in {None, log.who.id}
        assert not message.hidden or message.run == log.run


@costly
@given(log=logs())
def test_in_a_thread_of_one_s_own_nobody_else_speaks(log: Log) -> None:
    for message in seen(own_thread, log):
        if message.run == log.run:
            assert message.thread == log.who.id or message.role == "user"


@costly
@given(log=logs())
def test_a_brief_is_all_that_whoever_sums_up_is_told_of_this_run(log: Log) -> None:
    now = [message for message in seen(briefed, log) if message.run == log.run]
    assert len([message for message in now if message.hidden]) <= 1
    assert all(message.hidden or message.role == "user" for message in now)


@costly
@given(log=logs())
def test_an_advisor_sees_of_the_others_only_one_turn_before_this_one_and_no_synthesis(log: Log) -> None:
    of_others = [one for one in seen(advised, log) if one.participant not in {None, log.who.id}]
    assert len({one.run for one in of_others}) <= 1
    assert log.run not in {one.run for one in of_others}
    assert {one.role for one in seen(advised, log)} <= {"user", "assistant"}


def said(number: int, words: str, who: str | None = None, *, run: str = "now", **more: object) -> Message:
    return Message(
        id=str(number),
        discussion="d",
        number=number,
        run=run,
        role="assistant" if who else "user",
        participant=who,
        content=words,
        **more,  # type: ignore[arg-type]
    )


DISCUSSION = [
    said(1, "Why?", run="before"),
    said(2, "Because.", "alpha", run="before"),
    said(3, "Just so.", "beta", run="before"),
    said(4, "Only between us, Beta.", run="aside", audience=("beta",)),
    said(5, "I see.", "beta", run="aside", audience=("beta",)),
    said(6, "And now?"),
    said(7, "", "alpha", status="failed"),
    said(8, "Now th", "beta", status="stopped"),
    said(9, "Then.", "alpha", round=1),
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
    assert [message.number for message in view(DISCUSSION, who, "now")] == numbers


@costly
@given(log=logs())
def test_in_a_lesson_one_reads_all_that_was_said_and_only_one_s_newest_brief(log: Log) -> None:
    shown, all_of_it = seen(in_lesson, log), seen(everything, log)
    briefs = [message for message in all_of_it if message.hidden]
    assert shown == [message for message in all_of_it if message not in briefs[:-1]]
    for message in shown:
        meant = {*(message.audience or ()), message.participant}
        assert not message.hidden or message.audience is None or log.who.id in meant


def test_nobody_reads_another_s_brief_in_a_lesson() -> None:
    briefs = [
        said(number, f"Brief {number}", hidden=True, audience=(who,))
        for number, who in ((10, "alpha"), (11, "beta"), (12, "alpha"), (13, "beta"))
    ]
    log = [*DISCUSSION, *briefs]
    assert [m.number for m in in_lesson(log, "alpha", "now") if m.hidden] == [12]
    assert [m.number for m in in_lesson(log, "gamma", "now") if m.hidden] == []
    assert [m.number for m in in_lesson(log, "beta", "next") if m.hidden] == []


@views
@costly
@given(log=logs())
def test_what_was_seen_in_an_earlier_run_is_seen_so_from_any_other(view: View, log: Log) -> None:
    then = view_of_run(log.run, view.__name__)
    assert then(log.said, log.who.id, "run_later") == seen(view, log)
    assert then.__name__ == view.__name__
