import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from moot.transcript.html import TimeBudget, escape_html, html_element, text_element
from moot.whiteboard.render.elements import replace_unprintable
from tests.support.safe_html import ParsedHtml


def test_html_element_is_closed_when_empty() -> None:
    assert html_element("p") == "<p></p>"
    assert html_element("p", "a", "<b>b</b>", class_="x", aria_label="y", id=None) == (
        '<p class="x" aria-label="y">a<b>b</b></p>'
    )


def test_text_element_escapes_text_and_is_omitted_without() -> None:
    assert text_element("p", "a < b", class_="x") == '<p class="x">a &lt; b</p>'
    assert text_element("p", "") == text_element("p", None) == ""


def normalize_newlines(text: str) -> str:
    """Replace carriage returns with line feeds, as an HTML parser does."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


@given(st.text(), st.text())
@example("\r\n", "\r")
@example("a\r\r\n\n\r", "\n\r\n")
@example("\0&#13;&amp", "'\"><p title=x>")
def test_escape_html_round_trips_text_and_attributes(text: str, value: str) -> None:
    (node,) = ParsedHtml(html_element("p", escape_html(text), title=value)).nodes
    assert {name: normalize_newlines(parsed) for name, parsed in node.attributes.items()} == {
        "title": normalize_newlines(replace_unprintable(value))
    }
    assert normalize_newlines(node.text) == normalize_newlines(replace_unprintable(text))


def test_time_budget_is_spent_after_limit() -> None:
    times = iter([0.0, 2.0, 10.0, 11.0])
    work = TimeBudget(3.0, lambda: next(times))
    with work.track_time():
        pass
    assert not work.is_spent
    with work.track_time():
        pass
    assert work.is_spent


def test_time_budget_counts_failed_work() -> None:
    times = iter([0.0, 5.0])
    work = TimeBudget(3.0, lambda: next(times))
    with pytest.raises(ValueError, match="No"), work.track_time():
        raise ValueError("No")
    assert work.is_spent
