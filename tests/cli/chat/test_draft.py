import msgspec
import pytest

from moot.cli.ask_options import AskOptions, build_run_plan
from moot.cli.chat.draft import TableDraft, draft_from_plan
from moot.services.run_plans import DiscussionChange, DiscussionDraft
from moot.types.errors import UsageError
from moot.types.modes import DebateOptions
from moot.types.participants import make_participants

TWO_PARTICIPANTS = TableDraft(participants=make_participants(("a/one", "b/two")), mode="consensus")


def participant_names(draft: TableDraft) -> list[str]:
    return [who.name for who in draft.participants]


@pytest.mark.parametrize(
    "asked",
    [
        AskOptions(question="", mode="debate", lead="beta", quorum=1, deadline=3.0, skip_if_agreed=True),
        AskOptions(question="", mode="advisors", question_turns=0, cross_talk=True, synthesis=True),
        AskOptions(question="", mode="directed", turns=3, roles=["student"]),
        AskOptions(question="", temperature=0.5, max_tokens=10, thinking="low"),
    ],
)
def test_draft_from_plan_makes_valid_request_body(asked: AskOptions) -> None:
    planned_ = build_run_plan(asked, make_participants(("a/one", "b/two")))
    body = draft_from_plan(planned_).request_body
    draft = msgspec.convert(body | {"message": "x"}, DiscussionDraft)
    msgspec.convert(body, DiscussionChange)
    assert draft.mode == planned_.mode
    assert (draft.debate is None, draft.advisors is None, draft.directed is None) == (
        asked.mode != "debate",
        asked.mode != "advisors",
        asked.mode != "directed",
    )
    assert msgspec.to_builtins(draft.participants)[0]["model"] == "a/one"


def test_with_participant_assigns_next_free_name() -> None:
    assert participant_names(TWO_PARTICIPANTS.with_participant("c/three")) == ["Alpha", "Beta", "Gamma"]
    assert participant_names(
        TWO_PARTICIPANTS.without_participant(TWO_PARTICIPANTS.participants[0]).with_participant("c/three")
    ) == [
        "Beta",
        "Alpha",
    ]
    assert participant_names(TWO_PARTICIPANTS.with_participant("c/three", "Carla")) == [
        "Alpha",
        "Beta",
        "Carla",
    ]


def test_with_participant_rejects_duplicate_name() -> None:
    with pytest.raises(UsageError, match="The name beta is already used"):
        TWO_PARTICIPANTS.with_participant("c/three", "beta")


def test_table_draft_adapts_mode_to_participant_count() -> None:
    alone = TWO_PARTICIPANTS.without_participant(TWO_PARTICIPANTS.participants[0])
    assert alone.mode == "single"
    assert alone.with_participant("c/three").mode == "parallel"
    assert TWO_PARTICIPANTS.with_participant("c/three").mode == "consensus"


def test_without_participant_rejects_removing_last_participant() -> None:
    alone = TWO_PARTICIPANTS.without_participant(TWO_PARTICIPANTS.participants[0])
    with pytest.raises(UsageError, match="Beta is the only participant"):
        alone.without_participant(alone.participants[0])


def test_without_participant_adjusts_debate_lead_and_quorum() -> None:
    debate = TableDraft(
        participants=make_participants(("a/one", "b/two", "c/three")),
        mode="debate",
        debate=DebateOptions(lead="gamma", quorum=3),
    )
    assert debate.without_participant(debate.participants[2]).debate == DebateOptions(lead=None, quorum=2)


def test_directed_mode_assigns_teacher_and_student_roles() -> None:
    lesson = TWO_PARTICIPANTS.with_mode("directed")
    assert [who.role for who in lesson.participants] == ["teacher", "student"]
    assert [who.role for who in lesson.with_participant("c/three").participants] == [
        "teacher",
        "student",
        "student",
    ]


def test_description_lists_participants_and_mode() -> None:
    assert TWO_PARTICIPANTS.description == "Alpha (a/one), Beta (b/two): consensus"
