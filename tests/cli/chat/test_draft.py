import msgspec
import pytest

from moot.cli.ask_options import Options, plan
from moot.cli.chat.draft import Seats, planned
from moot.server.schemas import DiscussionChange, DiscussionDraft
from moot.types.debate import Debate
from moot.types.errors import UsageError
from moot.types.participants import seat

TWO = Seats(participants=seat(("a/one", "b/two")), mode="consensus")


def names(seats: Seats) -> list[str]:
    return [who.name for who in seats.participants]


@pytest.mark.parametrize(
    "asked",
    [
        Options(question="", mode="debate", lead="beta", quorum=1, deadline=3.0, gate=True),
        Options(question="", mode="advisors", early=0, cross_talk=True, synthesis=True),
        Options(question="", mode="directed", turns=3, roles=("student",)),
        Options(question="", temperature=0.5, max_tokens=10, thinking="low"),
    ],
)
def test_a_server_takes_what_the_options_ask_for(asked: Options) -> None:
    planned_ = plan(asked, seat(("a/one", "b/two")))
    body = planned(planned_).body
    draft = msgspec.convert(body | {"message": "x"}, DiscussionDraft)
    msgspec.convert(body, DiscussionChange)
    assert draft.mode == planned_.mode
    assert (draft.debate is None, draft.advisors is None, draft.directed is None) == (
        asked.mode != "debate",
        asked.mode != "advisors",
        asked.mode != "directed",
    )
    assert msgspec.to_builtins(draft.participants)[0]["model"] == "a/one"


def test_whoever_is_added_gets_the_next_free_name() -> None:
    assert names(TWO.added("c/three")) == ["Alpha", "Beta", "Gamma"]
    assert names(TWO.dropped(TWO.participants[0]).added("c/three")) == ["Beta", "Alpha"]
    assert names(TWO.added("c/three", "Carla")) == ["Alpha", "Beta", "Carla"]


def test_nobody_gets_a_name_that_is_taken() -> None:
    with pytest.raises(UsageError, match="Somebody is called beta already"):
        TWO.added("c/three", "beta")


def test_the_mode_fits_how_many_there_are() -> None:
    alone = TWO.dropped(TWO.participants[0])
    assert alone.mode == "single"
    assert alone.added("c/three").mode == "parallel"
    assert TWO.added("c/three").mode == "consensus"


def test_the_last_one_stays() -> None:
    alone = TWO.dropped(TWO.participants[0])
    with pytest.raises(UsageError, match="Beta is the last one"):
        alone.dropped(alone.participants[0])


def test_the_rules_of_a_debate_fit_who_is_left() -> None:
    debate = Seats(
        participants=seat(("a/one", "b/two", "c/three")), mode="debate", debate=Debate(lead="gamma", quorum=3)
    )
    assert debate.dropped(debate.participants[2]).debate == Debate(lead=None, quorum=2)


def test_a_lesson_has_a_teacher_and_students() -> None:
    lesson = TWO.with_mode("directed")
    assert [who.role for who in lesson.participants] == ["teacher", "student"]
    assert [who.role for who in lesson.added("c/three").participants] == ["teacher", "student", "student"]


def test_it_is_told_who_sits_there_and_how_they_speak() -> None:
    assert TWO.words == "Alpha (a/one), Beta (b/two): consensus"
