"""A prompt in parts: together they are the request, and each part names its origin."""

from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from moot.prompts.builder import build_model_request, build_pieces
from moot.prompts.parts import (
    Attachment,
    PromptPiece,
    build_prompt_parts,
    group_into_messages,
    system_text,
    tool_call_pieces,
)
from moot.prompts.tokens import TOKENS_PER_FILE, estimate_tokens
from moot.prompts.visibility import VIEWS, View, advisor_view, lesson_view
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.participants import make_participants
from moot.types.requests import File, ModelRequest
from moot.types.run_plan import RunPlan
from moot.types.tools import ToolUse
from tests.prompts.advisor_discussions import (
    BETA,
    PARTICIPANTS,
    AdvisorScenario,
    DiscussionBuilder,
    advisor_scenarios,
)
from tests.prompts.random_discussions import DiscussionScenario, discussion_scenarios, fewer_examples

IMAGE_ATTACHMENT = Attachment(File("cat.png", "image/png", b"\x89PNG"), name="cat.png", size=4)
TEXT_ATTACHMENT = Attachment(Text("notes.txt:\n```\nRound.\n```"), name="notes.txt", size=6)
SUMMARY_ATTACHMENT = Attachment(Text("Earlier: round."), "reference_summary", "On tables")


def attach_to_messages(messages: tuple[Message, ...]) -> dict[str, tuple[Attachment, ...]]:
    """Attach a summary, a text and an image to every other message."""
    return {one.id: (SUMMARY_ATTACHMENT, TEXT_ATTACHMENT, IMAGE_ATTACHMENT) for one in messages if one.seq % 2}


def join_pieces(prompt_pieces: list[PromptPiece], request: ModelRequest) -> ModelRequest:
    return replace(request, system=system_text(prompt_pieces), messages=group_into_messages(prompt_pieces))


class TestAnyPrompt:
    @fewer_examples
    @given(
        discussion_scenarios(),
        st.sampled_from(list(VIEWS.values())),
        st.sampled_from(["", "Go on."]),
        st.booleans(),
    )
    def test_model_request_equals_its_joined_pieces_in_every_mode(
        self, log: DiscussionScenario, view: View, instruction: str, directed: bool
    ) -> None:
        plan = replace(log.plan, mode="directed") if directed else log.plan
        seen, attached = view(log.messages, log.participant.id, log.run), attach_to_messages(log.messages)
        made = build_pieces(plan, log.participant, seen, instruction, attached)
        request = build_model_request(plan, log.participant, seen, instruction, attached)
        assert join_pieces(made, request) == request

    @fewer_examples
    @given(advisor_scenarios(), st.sampled_from(["", "Go on."]))
    def test_advisor_model_request_equals_its_joined_pieces_when_windowed(
        self, log: AdvisorScenario, instruction: str
    ) -> None:
        seen, attached = advisor_view(log.messages, log.participant.id, log.run), attach_to_messages(log.messages)
        made = build_pieces(log.plan, log.participant, seen, instruction, attached)
        request = build_model_request(log.plan, log.participant, seen, instruction, attached)
        assert join_pieces(made, request) == request

    @fewer_examples
    @given(discussion_scenarios(), st.sampled_from(list(VIEWS.values())))
    def test_model_request_can_be_rebuilt_from_prompt_parts(self, log: DiscussionScenario, view: View) -> None:
        seen = view(log.messages, log.participant.id, log.run)
        parts = build_prompt_parts("a/one", build_pieces(log.plan, log.participant, seen)).parts
        request = build_model_request(log.plan, log.participant, seen)
        assert request.system == "\n\n".join(part.text for part in parts if part.role == "system")
        by_role = groupby((part for part in parts if part.role != "system"), key=lambda part: part.role)
        assert [(role, [part.text for part in some]) for role, some in by_role] == [
            (message.role, [part.text for part in message.parts if isinstance(part, Text)])
            for message in request.messages
        ]

    @fewer_examples
    @given(discussion_scenarios(), st.sampled_from(list(VIEWS.values())))
    def test_prompt_piece_names_its_message_and_author(self, log: DiscussionScenario, view: View) -> None:
        seen = view(log.messages, log.participant.id, log.run)
        by_id = {one.id: one for one in seen}
        for piece in build_pieces(log.plan, log.participant, seen, "", attach_to_messages(log.messages)):
            if piece.origin in {"own", "message"}:
                message = by_id[piece.message or ""]
                assert isinstance(piece.part, Text)
                assert piece.part.text.endswith(message.content)
                assert piece.name == message.name
                assert (piece.origin == "own") == (message.participant == log.participant.id)
            elif piece.origin in {"file", "reference_summary"}:
                assert by_id[piece.message or ""].role == "user"
            elif piece.origin == "instructions":
                assert by_id[piece.message or ""].hidden
            else:
                assert piece.message is None


def piece_origins(prompt_pieces: list[PromptPiece]) -> list[tuple[str, str, str | None]]:
    return [(piece.role, piece.origin, piece.name) for piece in prompt_pieces]


def test_prompt_pieces_have_origin_for_each_layer_and_attachment() -> None:
    who, other = make_participants(("a/one", "b/two"))
    plan = RunPlan(
        mode="parallel",
        participants=(who, other),
        personas={who.id: "Be brief."},
        project="P.",
        language="de",
    )
    seen = [
        Message(id="m1", discussion="d", role="user", content="Why?"),
        Message(id="m2", discussion="d", role="assistant", content="So.", participant=who.id, name=who.name),
        Message(id="m3", discussion="d", role="assistant", content="No.", participant=other.id, name="Beta"),
    ]
    made = build_pieces(plan, who, seen, "Go on.", {"m1": (SUMMARY_ATTACHMENT, TEXT_ATTACHMENT, IMAGE_ATTACHMENT)})
    assert piece_origins(made) == [
        ("system", "persona", None),
        ("system", "mode", None),
        ("system", "project", None),
        ("system", "language", None),
        ("user", "reference_summary", "On tables"),
        ("user", "file", "notes.txt"),
        ("user", "file", "cat.png"),
        ("user", "message", None),
        ("assistant", "own", "Alpha"),
        ("user", "message", "Beta"),
        ("user", "instructions", None),
    ]


def test_prompt_piece_origin_is_filler_when_it_only_keeps_role_order() -> None:
    (who,) = make_participants(("a/one",))
    own = Message(id="m", discussion="d", role="assistant", content="So.", participant=who.id, name=who.name)
    made = build_pieces(RunPlan(mode="single", participants=(who,)), who, [own])
    assert piece_origins(made) == [
        ("user", "filler", None),
        ("assistant", "own", "Alpha"),
        ("user", "filler", None),
    ]


def test_prompt_piece_origin_is_reference_for_other_advisors() -> None:
    discussion = DiscussionBuilder().add_user_message("Why?")
    for who in PARTICIPANTS:
        discussion.add_answer(who, "So.")
    discussion.add_user_message("And now?").add_instructions(BETA, "Reply to the others.")
    plan = RunPlan(mode="advisors", participants=PARTICIPANTS)
    made = build_pieces(plan, BETA, advisor_view(discussion.messages, BETA.id, discussion.run))
    assert [piece.origin for piece in made] == [
        *("mode", "message", "own", "reference", "message", "instructions"),
    ]


def test_lesson_pieces_add_filler_after_incomplete_own_turn() -> None:
    (who,) = make_participants(("a/one",))
    cut = Message(
        id="m",
        discussion="d",
        role="assistant",
        content="So",
        participant=who.id,
        name="Alpha",
        status="partial",
    )
    made = build_pieces(RunPlan(mode="directed", participants=(who,)), who, lesson_view([cut], who.id, "run"))
    assert [(piece.role, piece.origin) for piece in made[-2:]] == [("assistant", "own"), ("user", "filler")]


@pytest.mark.parametrize("rate", [1.0, 4.0])
def test_prompt_parts_count_tokens_with_rate_of_model(rate: float) -> None:
    made = [
        PromptPiece("system", "mode", Text("x" * 40)),
        PromptPiece("user", "file", IMAGE_ATTACHMENT.part, "cat.png", "m", 4),
    ]
    prompt = build_prompt_parts("a/one", made, rate)
    assert (prompt.model, prompt.tokens) == ("a/one", estimate_tokens("x" * 40, rate) + TOKENS_PER_FILE)
    text, file = prompt.parts
    assert (text.text, text.tokens, text.size) == ("x" * 40, estimate_tokens("x" * 40, rate), None)
    assert (file.text, file.name, file.size) == ("", "cat.png", 4)


def test_tool_call_pieces_have_text_calls_and_results_in_order() -> None:
    def use(id: str, text_offset: int) -> ToolUse:
        return ToolUse(
            call_id=id,
            name="dict/look_up",
            arguments='{"word": "moot"}',
            content="A meeting.",
            is_error=False,
            seconds=1.0,
            text_offset=text_offset,
        )

    answer = "I look.\n\nAnd again.\n\nSo it is a meeting."
    uses = [use("1", 7), use("2", 7), use("3", 19)]
    parts = build_prompt_parts("m", list(tool_call_pieces(answer, uses)), tools=("dict",))
    call, result = ("call", '{"word": "moot"}'), ("result", "A meeting.")
    sent = [(part.origin, part.text) for part in parts.parts]
    assert sent == [("own", "I look."), call, result, call, result, ("own", "And again."), call, result]
    assert {part.name for part in parts.parts if part.origin != "own"} == {"dict/look_up"}
    assert (parts.tools, parts.tokens) == (("dict",), sum(part.tokens for part in parts.parts))
