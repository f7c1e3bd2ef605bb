from hypothesis import given
from hypothesis import strategies as st

from moot.transcript.markup import element, listed, words
from tests.transcript.reading import Reading


def test_an_element_is_closed_also_when_it_is_empty() -> None:
    assert element("p") == "<p></p>"
    assert element("p", "a", "<b>b</b>", class_="x", aria_label="y", id=None) == (
        '<p class="x" aria-label="y">a<b>b</b></p>'
    )
    assert listed(["a", "b"], "ol", class_="x") == '<ol class="x"><li>a</li><li>b</li></ol>'


@given(st.text(), st.text())
def test_text_stays_text_between_tags_and_in_attributes(text: str, value: str) -> None:
    (node,) = Reading(element("p", words(text), title=value)).nodes
    assert list(node.attributes) == ["title"]
    assert len(node.text) == len(text.replace("\r\n", "\n"))
