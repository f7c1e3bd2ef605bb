"""The sample lesson depends on the actions and prompts: a change of one needs a change of the other."""

import json

import pytest

from moot.prompts.tasks.director import DirectorContext, director_task
from moot.providers.scripted.scripts import BUILT_IN_SCRIPTS
from moot.streaming.lesson_turn import LessonTurnParser, RejectedAction
from moot.types.participants import LessonRole, make_participants
from moot.whiteboard.state import EMPTY_BOARD, Board

ROLES: dict[str, LessonRole] = {
    "teacher": "teacher",
    "assistant": "assistant",
    "student": "student",
    "classmate": "student",
}
QUESTION = "Why do odd numbers add up to squares?"
TURNS = [  # in the order of the lesson: the speaker, and what is in the prompt
    ("teacher", QUESTION),
    ("assistant", QUESTION),
    ("classmate", "code-odd"),
    ("assistant", "code-odd"),
    ("teacher", "code-odd"),
]
NEXT_SPEAKERS = ["gamma", "beta", "delta", "beta", "alpha", "gamma", "USER"]


def draw_sample_lesson() -> tuple[Board, list[RejectedAction]]:
    board, dropped = EMPTY_BOARD, []
    for who, prompt in TURNS:
        parser = LessonTurnParser(ROLES[who], board)
        array = BUILT_IN_SCRIPTS[who].answer_for(prompt)
        dropped += [piece for piece in [*parser.feed(array), *parser.close()] if isinstance(piece, RejectedAction)]
        board = parser.board
    return board, dropped


def test_sample_lesson_draws_everything_except_disallowed_student_action() -> None:
    board, dropped = draw_sample_lesson()
    assert [element.id for element in board.elements] == [
        "title",
        "odd-law",
        "code-odd",
        "sums",
        "growing-square",
        "edge",
    ]
    assert [one.name for one in dropped] == ["spotlight"]


def test_sample_lesson_fixes_code() -> None:
    board, _ = draw_sample_lesson()
    code = board.find_element("code-odd")
    assert code is not None
    assert "total += 2 * k + 1" in [line.text.strip() for line in code.listing.lines]


@pytest.mark.parametrize("turn", range(1, 8))
def test_director_prompt_matches_script_of_sample_lesson(turn: int) -> None:
    participants = make_participants(("a/one",) * 4)
    task = director_task(DirectorContext(participants=participants, max_turns=10, turn=turn))
    (part,) = task.request.messages[0].parts
    decision = json.loads(BUILT_IN_SCRIPTS["teacher"].answer_for(part.text))  # type: ignore[union-attr]
    assert decision["next"] in {who.id for who in participants} | {"USER"}
    assert decision["next"] == NEXT_SPEAKERS[turn - 1]
