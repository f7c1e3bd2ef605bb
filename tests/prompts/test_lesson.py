"""The whole prompts of a lesson, and how participants see their own turns."""

import pytest
from inline_snapshot import snapshot
from msgspec.structs import replace

from moot.prompts.builder import build_model_request
from moot.prompts.lesson import (
    ANSWER_LENGTHS,
    ROLE_TEMPLATES,
    lesson_identity,
    lesson_instructions,
    own_turn_pieces,
    render_lesson_state,
    replay_messages,
    turn_action_names,
)
from moot.prompts.visibility import lesson_view
from moot.types.action_docs import describe_actions
from moot.types.chunks import Text
from moot.types.discussions import Message
from moot.types.events import TurnStatus
from moot.types.modes import DirectedOptions
from moot.types.participants import LessonRole, Participant
from moot.types.run_plan import RunPlan
from moot.whiteboard.state import EMPTY_BOARD

MIRA = Participant("mira", "Mira", "a/one", role="teacher")
TOM = Participant("tom", "Tom", "a/one", role="student")
LI = Participant("li", "Li", "a/one")
PLAN = RunPlan(mode="directed", participants=(MIRA, TOM, LI), directed=DirectedOptions(topic="Squares"))
DRAWING_ITEMS = '[{"type":"action","name":"wb_draw_text","params":{"content":"1 + 3","x":50.0,"y":40.0,"elementId":"sum"}},{"type":"text","content":"Look at this."}]'


def make_message(
    participant: Participant | None,
    text: str,
    turn: int = 0,
    *,
    lesson_items: str | None = None,
    status: TurnStatus = "completed",
    hidden: bool = False,
    run: str = "run_1",
) -> Message:
    return Message(
        id=f"msg_{participant.id if participant else 'user'}_{turn}",
        discussion="dis_1",
        run=run,
        role="assistant" if participant else "user",
        content=text,
        participant=participant.id if participant else None,
        name=participant.name if participant else None,
        stage="turn" if participant else None,
        round=turn,
        lesson_items=lesson_items,
        status=status,
        hidden=hidden,
        visible_to=("tom",) if hidden else None,
    )


MESSAGES = [
    make_message(None, "Why do they add up to squares?"),
    make_message(MIRA, "Look at this.", lesson_items=DRAWING_ITEMS),
    make_message(None, "The board is empty.", 1, hidden=True),
    make_message(
        TOM, "I do not see", 1, lesson_items='[{"type":"text","content":"I do not see"}]', status="interrupted"
    ),
    make_message(LI, "Broken", 2, status="failed", lesson_items='[{"type":"action","name":"wb_clear","params":{}}]'),
    make_message(LI, "Nor do I.", 3),
]


def test_lesson_identity_of_teacher_matches_snapshot() -> None:
    assert lesson_identity(PLAN, MIRA).replace(describe_actions("teacher"), "(its actions)") == snapshot("""\
You are Mira. You teach. You decide what matters, build it up step by step from what the others already know, and make it visible on the board: one idea at a time, each with an example. You ask before you tell where somebody can find it out, and you correct mistakes kindly and plainly.

With you: Tom (student), Li (participant). One speaks at a time, and somebody else decides who; speak for yourself only.

The topic: Squares

You share a whiteboard of 1000 by 563 points, with its origin at the top left. Everybody sees what is drawn on it; nobody sees how. You act in silence: never say that you are about to draw, open or point at something, and do not read out what stands there anyway.

Your whole answer is one JSON array and nothing else, with two kinds of items in the order in which they happen:
- speech: {"type":"text","content":"what you say aloud"}
- an action: {"type":"action","name":"wb_draw_text","params":{"content":"F = m a","x":80,"y":60}}

The actions that you may use, with what they take (a question mark is what may be left out):
(its actions)

Give an elementId to whatever you may want to change or point at later, and use the ids that stand on the board. Keep things apart: no overlapping, nothing beyond the edges; delete what is no longer needed before you add more.

Speak as people do when they talk: whole sentences, no markdown, no lists, no stage directions, no name in front. Say about 100 characters in all, and more only where it cannot be said shorter.\
""")


def test_lesson_identity_of_student_differs_from_teacher() -> None:
    teacher, student = lesson_identity(PLAN, MIRA).splitlines(), lesson_identity(PLAN, TOM).splitlines()
    only = [line for line in student if line not in teacher and not line.startswith("wb_")]
    assert only == snapshot(
        [
            "You are Tom. You learn. You say honestly what you understood and what you did not, ask about the step that does not follow, and try things out, mistakes included. One short question or thought at a time; you do not lecture.",
            "With you: Mira (teacher), Li (participant). One speaks at a time, and somebody else decides who; speak for yourself only.",
            "Speak as people do when they talk: whole sentences, no markdown, no lists, no stage directions, no name in front. Say about 50 characters in all, and more only where it cannot be said shorter.",
        ]
    )


def test_lesson_identity_lists_slide_actions_only_for_teacher() -> None:
    assert "\nspotlight " in lesson_identity(PLAN, MIRA)
    assert "spotlight" not in lesson_identity(PLAN, TOM) + lesson_identity(PLAN, LI)


@pytest.mark.parametrize("role", ROLE_TEMPLATES)
def test_lesson_identity_has_template_and_length_for_each_role(role: LessonRole | None) -> None:
    identity = lesson_identity(PLAN, Participant("x", "X", "a/one", role=role))
    assert f"about {ANSWER_LENGTHS[role]} characters" in identity
    assert "{" not in identity.replace('{"', "").replace(describe_actions(role), "")


def test_lesson_identity_omits_others_and_topic_when_absent() -> None:
    identity = lesson_identity(RunPlan(mode="directed", participants=(MIRA,)), MIRA)
    assert "With you" not in identity
    assert "The topic" not in identity


def test_lesson_instructions_have_whiteboard_and_answers_of_others() -> None:
    assert lesson_instructions(MESSAGES, "run_1", "tom", 10_000) == snapshot("""\
The whiteboard (1000 x 563) is open, with 1 element:
- sum: text "1 + 3", at (50, 40), 400 x 100, by Mira

Since the user spoke, these have spoken already. Do not repeat what they said: add to it, question it, or take it further.
- Mira: Look at this.
- Li: Nor do I.

It is your turn. Answer with the array.\
""")


def test_lesson_instructions_of_first_turn_mention_no_others() -> None:
    instructions = lesson_instructions(MESSAGES[:1], "run_1", "mira", 10_000)
    assert "already" not in instructions
    assert instructions == render_lesson_state(EMPTY_BOARD, [], {})


def test_lesson_instructions_have_only_current_run_and_truncate_answers() -> None:
    log = [make_message(LI, "Long ago.", run="run_0"), make_message(MIRA, "word " * 100)]
    instructions = lesson_instructions(log, "run_1", "tom", 10_000)
    assert "Long ago" not in instructions
    assert "- Mira: " + ("word " * 20).strip() in instructions
    assert "word " * 21 not in instructions


def test_lesson_prompt_has_own_turns_as_array_and_others_by_name() -> None:
    request = build_model_request(PLAN, TOM, lesson_view(MESSAGES, "tom", "run_1"))
    sent = [
        (message.role, [part.text for part in message.parts if isinstance(part, Text)]) for message in request.messages
    ]
    assert sent == snapshot(
        [
            (
                "user",
                [
                    "Why do they add up to squares?",
                    """\
Mira said:

Look at this.\
""",
                    "The board is empty.",
                ],
            ),
            ("assistant", ['[{"type":"text","content":"I do not see"}]']),
            (
                "user",
                [
                    "(You were interrupted here; the rest was never said.)",
                    """\
Li said:

Nor do I.\
""",
                ],
            ),
        ]
    )


def test_lesson_view_keeps_own_turn_without_text() -> None:
    silent = make_message(TOM, "", 1, lesson_items='[{"type":"action","name":"wb_open","params":{}}]')
    seen = lesson_view([MESSAGES[0], silent], "tom", "run_1")
    assert silent in seen
    assert silent not in lesson_view([MESSAGES[0], silent], "mira", "run_1"), "others see what it did on the board"


def test_own_turn_without_lesson_items_is_encoded_as_array() -> None:
    (piece,) = own_turn_pieces(make_message(TOM, 'He said "so".'))
    assert isinstance(piece.part, Text)
    assert piece.part.text == r'[{"type":"text","content":"He said \"so\"."}]'


@pytest.mark.parametrize("status", ["interrupted", "stopped", "partial"])
def test_own_turn_pieces_add_note_after_incomplete_turn(status: TurnStatus) -> None:
    spoken, note = own_turn_pieces(make_message(TOM, "I do", status=status))
    assert (spoken.role, note.role) == ("assistant", "user")
    assert "You were interrupted here" in str(note.part)


def test_replay_messages_skips_failed_turns() -> None:
    (element,) = replay_messages(MESSAGES).elements
    assert (element.id, element.participant) == ("sum", "mira")


def test_turn_action_names_are_read_from_lesson_items() -> None:
    assert [turn_action_names(message) for message in MESSAGES if message.participant] == [
        ("wb_draw_text",),
        (),
        (),
        (),
    ]


def test_lesson_instructions_hide_private_drawings_from_others() -> None:
    drew = '[{"type":"action","name":"wb_draw_text","params":{"content":"Secret","x":0,"y":0}}]'
    log = [replace(make_message(MIRA, "Look.", lesson_items=drew), visible_to=("mira",)), make_message(LI, "What?")]
    assert "Secret" in lesson_instructions(log, "run_1", "mira", 10_000)
    assert "Secret" not in lesson_instructions(log, "run_1", "tom", 10_000)
