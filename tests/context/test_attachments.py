import pytest
from inline_snapshot import snapshot

from moot.context.attachments import (
    has_files,
    left_out,
    readable,
    refuse_unread,
    takes,
    unread,
)
from moot.model.chunks import Text
from moot.model.errors import UsageError
from moot.model.profiles import FileKind
from moot.model.requests import File, ModelRequest, assistant, user

PICTURE = File("cat {name}.png", "image/png", b"\x89PNG")
PAPER = File("paper.pdf", "application/pdf", b"%PDF-")
REQUEST = ModelRequest(
    model="m", messages=(user(PICTURE, PAPER, "What is it?"), assistant("A cat."), user("And now?"))
)


def test_what_a_model_takes_stays_and_the_rest_becomes_a_line() -> None:
    sees = readable(REQUEST, {"text", "image"})
    assert sees.messages[0].parts == (PICTURE, unread(PAPER), Text("What is it?"))
    assert sees.messages[1:] == REQUEST.messages[1:]
    assert readable(REQUEST, {"text", "image", "pdf"}) == REQUEST
    assert not has_files(readable(REQUEST, {"text"}))


def test_what_those_are_told_who_cannot_read() -> None:
    assert unread(PICTURE).text == snapshot(
        "(cat {name}.png, an image, came with this message, in a form that you cannot read.)"
    )
    assert unread(File("x", "font/woff", b"")).text == snapshot(
        "(x, a file, came with this message, in a form that you cannot read.)"
    )
    assert left_out(PAPER).text == snapshot(
        "(paper.pdf, a PDF file, came with this message. It is left out here: newer files take up the room.)"
    )


def test_a_request_of_words_has_no_files() -> None:
    assert has_files(REQUEST)
    assert not has_files(ModelRequest(model="m", messages=(user("Only words."),)))


@pytest.mark.parametrize(("kinds", "able"), [({"text"}, False), ({"text", "image"}, True)])
def test_who_cannot_read_a_file_is_named(kinds: set[FileKind], able: bool) -> None:
    assert takes(kinds, PICTURE) is able
    if able:
        refuse_unread("Beta", "a/b", kinds, PICTURE)
        return
    with pytest.raises(UsageError) as caught:
        refuse_unread("Beta", "a/b", kinds, PICTURE)
    assert str(caught.value) == (
        "Beta (a/b) takes no image files such as cat {name}.png: leave the file out or choose another model."
    )
