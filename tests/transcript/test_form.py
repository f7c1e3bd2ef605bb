"""What holds for every form of a transcript."""

import pytest

from moot.board.replay import EMPTY
from moot.model.versions import Turn
from moot.transcript.document import Document
from moot.transcript.form import Form
from moot.transcript.markdown import Markdown
from moot.transcript.page import Page
from tests.transcript.samples import DISCUSSION, FILES, MESSAGES, REPORT, said, turns

FORMS = [Markdown, Document, Page]


def told(form: Form, *, at_once: int) -> str:
    """Tell the sample so many messages at once."""
    pages = [MESSAGES[start : start + at_once] for start in range(0, len(MESSAGES), at_once)]
    answers = "".join(form.said(turns(page), FILES) for page in pages)
    return form.begin(DISCUSSION) + answers + form.found(REPORT) + form.end(EMPTY)


@pytest.mark.parametrize("form", FORMS)
def test_it_is_the_same_however_it_is_cut_into_pages(form: type[Form]) -> None:
    assert told(form(), at_once=1) == told(form(), at_once=3) == told(form(), at_once=100)


@pytest.mark.parametrize("form", FORMS)
def test_everything_is_in_it(form: type[Form]) -> None:
    text = told(form(), at_once=100)
    for message in MESSAGES:
        assert message.content in text.replace("<strong>", "**").replace("</strong>", "**")
    for words in (
        "The teams wait.",
        "Key rejected for b (HTTP 401).",
        "Gamma was won over.",
        "notes.txt",
        "a/one",
    ):
        assert words in text
    for words in ("every", "single week", "we measured it twice", "I change my position."):
        assert words in text


@pytest.mark.parametrize("form", FORMS)
def test_a_discussion_in_which_nothing_was_said_is_told_too(form: type[Form]) -> None:
    empty = form()
    assert DISCUSSION.title in empty.begin(DISCUSSION) + empty.end(EMPTY)


REVISED = Turn(
    said(0, "Split it in May.", version=3, versions=3, version_id="msg_9"),
    (
        said(0, "Split it today.", version=1, versions=3),
        said(0, "Never split it.", version=2, versions=3, edited=True),
    ),
)


@pytest.mark.parametrize("form", FORMS)
def test_no_version_of_an_answer_is_left_out(form: type[Form]) -> None:
    text = told_of(form(), REVISED)
    for words in ("Split it in May.", "Split it today.", "Never split it."):
        assert text.count(words) == 1
    assert told_of(form(), Turn(REVISED.now)).count("Never") == 0


@pytest.mark.parametrize("form", [Markdown, Page])
def test_whoever_reads_is_told_which_version_it_is(form: type[Form]) -> None:
    text = told_of(form(), REVISED)
    assert text.index("Split it in May.") < text.index("Version 1 of 3") < text.index("Version 2 of 3")
    assert "Version 2 of 3, edited by hand" in text


def told_of(form: Form, *some: Turn) -> str:
    return form.begin(DISCUSSION) + form.said(some, {}) + form.end(EMPTY)
