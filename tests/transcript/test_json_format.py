import msgspec

from moot.transcript.json_format import JsonFormat, TranscriptDocument
from moot.whiteboard.state import EMPTY_BOARD, replay_actions
from tests.support.transcript_samples import (
    DISCUSSION,
    FILES,
    MESSAGES,
    NOTES_FILE,
    REPORT,
    single_version_turns,
)
from tests.support.whiteboard_lesson import LESSON_ACTIONS


def test_json_format_decodes_as_transcript() -> None:
    form, board = JsonFormat(), replay_actions(LESSON_ACTIONS)
    parts = [
        form.render_start(DISCUSSION),
        form.render_turns(single_version_turns(MESSAGES[:3]), FILES),
        form.render_report(REPORT),
        form.render_turns(single_version_turns(MESSAGES[3:]), {}),
        form.render_report(REPORT),
        form.render_end(board),
    ]
    assert msgspec.json.decode("".join(parts), type=TranscriptDocument) == TranscriptDocument(
        moot=1,
        discussion=DISCUSSION,
        messages=MESSAGES,
        versions=(),
        runs=(REPORT, REPORT),
        files=(NOTES_FILE,),
        whiteboard=board,
    )


def test_json_format_of_empty_discussion_is_object() -> None:
    form = JsonFormat()
    document = msgspec.json.decode(form.render_start(DISCUSSION) + form.render_end(EMPTY_BOARD))
    assert (document["moot"], document["messages"], document["runs"], document["files"]) == (1, [], [], [])
