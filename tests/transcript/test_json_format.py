import msgspec

from moot.transcript.json_format import Document, Transcript
from moot.whiteboard.state import EMPTY, replayed
from tests.transcript.samples import DISCUSSION, FILES, MESSAGES, NOTES, REPORT, turns
from tests.whiteboard.lesson import LESSON


def test_it_is_one_object_of_the_shape_that_is_described() -> None:
    form, board = Document(), replayed(LESSON)
    parts = [
        form.begin(DISCUSSION),
        form.said(turns(MESSAGES[:3]), FILES),
        form.found(REPORT),
        form.said(turns(MESSAGES[3:]), {}),
        form.found(REPORT),
        form.end(board),
    ]
    assert msgspec.json.decode("".join(parts), type=Transcript) == Transcript(
        moot=1,
        discussion=DISCUSSION,
        messages=MESSAGES,
        versions=(),
        runs=(REPORT, REPORT),
        files=(NOTES,),
        board=board,
    )


def test_nothing_is_an_object_too() -> None:
    form = Document()
    told = msgspec.json.decode(form.begin(DISCUSSION) + form.end(EMPTY))
    assert (told["moot"], told["messages"], told["runs"], told["files"]) == (1, [], [], [])
