"""A transcript as HTML: its content, and that untrusted text stays text."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields, replace

from moot.transcript.html_format import CONTENT_SECURITY_POLICY, HtmlFormat
from moot.types.drawing import DrawCode, DrawLatex, DrawTable, DrawText
from moot.types.faults import Fault
from moot.types.participants import PARTICIPANT_COLOURS, Participant
from moot.types.versions import VersionedTurn
from moot.whiteboard.state import EMPTY_BOARD, replay_actions
from tests.support.safe_html import ParsedHtml, parse_safe_html
from tests.support.transcript_samples import (
    DISCUSSION,
    FILES,
    HOSTILE_TEXTS,
    LESSON_REPORT,
    MESSAGES,
    NOTES_FILE,
    REPORT,
    participant_message,
    single_version_turns,
    user_message,
)
from tests.support.whiteboard_lesson import LESSON_ACTIONS as DRAWN
from tests.support.whiteboard_lesson import make_board

PARTICIPANT_NAMES = ("Alpha", "Beta", "Gamma")
UNCHANGED_FIELDS = {
    "id",
    "mode",
    "status",
    "role",
    "participant",
    "because_of",
    "message",
    "stage",
    "run",
    "next",
    "by",
    "type",
}


def render_page() -> str:
    page = HtmlFormat()
    return (
        page.render_start(DISCUSSION)
        + page.render_turns(single_version_turns(MESSAGES), FILES)
        + page.render_report(REPORT)
        + page.render_end(replay_actions(DRAWN))
    )


def test_page_contains_everything_in_order() -> None:
    read = parse_safe_html(render_page())
    assert read.texts("h1") == read.texts("title") == ["Shall we split it?"]
    assert read.texts("li")[:3] == ["Alpha a/one", "Beta b/two", "Gamma c/three"]
    assert read.texts("h3", "name") == ["Person", "Alpha", "Beta", "Gamma", "Alpha", "Gamma", "Alpha"]
    assert read.texts("h2") == ["First answers", "Debate", "Synthesis", "Report"]
    words = [
        "Split it now.",
        "Wait a quar",
        "I keep my position.",
        "I change my position.",
        "Split it, in steps.",
    ]
    assert read.texts("div", "words") == ["Shall we split it?", *words]
    assert [text.split() for text in read.texts("details")] == [
        ["ThinkingThe", "teams", "wait."],
        ["DetailsFigures:", "none."],
    ]
    assert read.texts("p", "trouble") == ["Key rejected for b (HTTP 401).", "Cut off here."]
    assert read.texts("p", "files") == ["With notes.txt"]
    assert read.texts("footer")[0] == "1,200 tokens in, 34 out · $0.0123 · 1.5 s"
    assert read.texts("time")[0] == "2026-11-15 12:00 UTC"
    assert read.texts("figcaption") == ["The whiteboard at the end"]


def test_page_is_self_contained() -> None:
    page = render_page()
    assert f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">' in page
    assert page.index("Content-Security-Policy") < page.index("<style>")
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!#)", page)


def test_participant_has_same_colour_everywhere() -> None:
    read = ParsedHtml(render_page())
    cards = [node.attributes["style"] for node in read.nodes if node.name == "article"]
    alpha, beta, gamma = (f"--own:{one}" for one in PARTICIPANT_COLOURS[:3])
    assert cards == ["--own:var(--soft)", alpha, beta, gamma, alpha, gamma, alpha]
    chips = {
        node.text: node.attributes["style"]
        for node in read.nodes
        if node.name == "span" and node.text in PARTICIPANT_NAMES
    }
    assert chips == {"Alpha": alpha, "Beta": beta, "Gamma": gamma}


@pytest.mark.parametrize(
    ("own", "shown"),
    [("#123abc", "#123abc"), ("", PARTICIPANT_COLOURS[0]), ("red;x:url(//a)", PARTICIPANT_COLOURS[0])],
)
def test_own_colour_is_used_when_valid(own: str, shown: str) -> None:
    first, *others = DISCUSSION.participants
    page = HtmlFormat()
    read = parse_safe_html(
        page.render_start(replace(DISCUSSION, participants=(replace(first, colour=own), *others)))
        + page.render_end(EMPTY_BOARD)
    )
    assert [node.attributes["style"] for node in read.nodes if node.text == "Alpha"] == [f"--own:{shown}"]


def test_quote_links_to_its_message() -> None:
    page = HtmlFormat()
    read = ParsedHtml(page.render_start(DISCUSSION) + page.render_report(REPORT) + page.render_end(EMPTY_BOARD))
    assert {node.attributes["href"] for node in read.nodes if node.name == "a"} == {"#msg_1"}


def test_recipients_and_whiteboard_actions_are_shown() -> None:
    acted = participant_message(0, "Look.", "turn", lesson_items='[{"type":"action","name":"wb_open","params":{}}]')
    page = HtmlFormat()
    text = (
        page.render_start(DISCUSSION)
        + page.render_turns(single_version_turns([user_message(visible_to=("beta",)), acted]), {})
        + page.render_end(EMPTY_BOARD)
    )
    read = parse_safe_html(text)
    assert "only for Beta" in read.texts("span", "model")
    assert read.texts("p", "acts") == ["On the board: open"]


def test_lesson_shows_decisions_and_ending() -> None:
    page = HtmlFormat()
    read = parse_safe_html(
        page.render_start(DISCUSSION) + page.render_report(LESSON_REPORT) + page.render_end(EMPTY_BOARD)
    )
    assert read.texts("li")[3:] == [
        "Alpha speaks next. It begins.",
        "The user speaks next. A question was asked.",
        "The lesson is over. All is said.",
    ]
    assert read.texts("p", "total") == [
        "Stopped. In all: 5,000 tokens in, 600 out, $0.25, and 2 calls whose price is not known"
    ]
    assert "The first answers agree. All say yes." in read.texts("p")
    assert "Report" not in read.texts("h2")


def test_rounds_have_headings() -> None:
    page = HtmlFormat()
    rounds = [participant_message(place, "So.", "round", round=number) for number in (0, 1) for place in (0, 1)]
    text = page.render_start(DISCUSSION) + page.render_turns(
        single_version_turns([user_message(), *rounds, participant_message(0, "So.", "answer")]), {}
    )
    assert ParsedHtml(text + page.render_end(EMPTY_BOARD)).texts("h2") == ["Round 1", "Round 2"]


def test_closed_whiteboard_is_shown_with_its_elements() -> None:
    page = HtmlFormat()
    closed = replace(make_board(DrawText(content="Round", x=0, y=0)), open=False)
    assert "Round" in parse_safe_html(page.render_start(DISCUSSION) + page.render_end(closed)).texts("text")


def replace_all_texts(value: Any, poison: str) -> Any:
    """Replace every text in a value."""
    match value:
        case str():
            return poison
        case Fault():
            return replace(value, message=poison)
        case tuple():
            return tuple(replace_all_texts(one, poison) for one in value)
        case Struct():
            names = [one.name for one in fields(value) if one.name not in UNCHANGED_FIELDS]
            return replace(value, **{name: replace_all_texts(getattr(value, name), poison) for name in names})
        case _:
            return value


@pytest.mark.parametrize("poison", HOSTILE_TEXTS)
def test_hostile_text_is_escaped_in_every_field(poison: str) -> None:
    page = HtmlFormat()
    people = tuple(Participant(who.id, poison, poison) for who in DISCUSSION.participants)
    discussion = replace(DISCUSSION, title=poison, participants=people)
    drawn = make_board(
        DrawText(content=poison, x=0, y=0, element_id=poison[:40]),
        DrawLatex(latex=poison, x=0, y=0),
        DrawCode(code=poison, language=poison[:20], x=0, y=0),
        DrawTable(data=((poison, poison), (poison, poison)), x=0, y=0, width=300, height=100),
    )
    markup = "".join(
        [
            page.render_start(discussion),
            page.render_turns(
                single_version_turns([replace_all_texts(one, poison) for one in MESSAGES]),
                {poison: replace(NOTES_FILE, name=poison)},
            ),
            page.render_report(replace_all_texts(REPORT, poison)),
            page.render_report(replace_all_texts(LESSON_REPORT, poison)),
            page.render_end(drawn),
        ]
    )
    parse_safe_html(markup)
    assert markup.encode()


@given(st.lists(st.one_of(st.sampled_from(HOSTILE_TEXTS), st.text(max_size=20)), max_size=6).map("\n".join))
def test_mixed_hostile_text_is_escaped(poison: str) -> None:
    page = HtmlFormat()
    earlier = participant_message(0, poison, model=poison, version=1, versions=2)
    turns = [
        VersionedTurn(participant_message(0, poison, thoughts=poison), (earlier,)),
        VersionedTurn(participant_message(1, poison * 2)),
    ]
    parse_safe_html(
        page.render_start(replace(DISCUSSION, title=poison))
        + page.render_turns(turns, {})
        + page.render_end(EMPTY_BOARD)
    )
