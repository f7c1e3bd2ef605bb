from hypothesis import given
from hypothesis import strategies as st

from moot.store.excerpt import AFTER, BEFORE, Excerpt, excerpt
from moot.store.search import LONGEST

FILLED = "so it was and so it is " * 50


def test_it_is_where_the_longest_word_that_is_sought_begins_a_word() -> None:
    assert excerpt("A round table has no head.", "tab a") == Excerpt("A round ", "table", " has no head.")
    assert excerpt("Armchairs, and\n\nchairs.", "CHAIR") == Excerpt("Armchairs, and ", "chairs", ".")


def test_accents_and_marks_do_not_matter() -> None:
    assert excerpt("Un CAFÉ, vite", "cafe").found == "CAFÉ"
    assert excerpt("un cafe, vite", "café!").found == "cafe"
    assert excerpt("Written in C++ here", "c++") == Excerpt("Written in ", "C", "++ here")


def test_what_is_far_from_it_is_left_out_between_words() -> None:
    found = excerpt(f"{FILLED}an owl {FILLED}", "owl")
    assert found == Excerpt(
        "… is so it was and so it is an ",
        "owl",
        " so it was and so it is so it was and so it is so it was and so it is so it was and so it is so it was and so it is so …",
    )


def test_where_there_are_no_spaces_it_is_cut_between_characters() -> None:
    assert excerpt("圆" * 500, "圆") == Excerpt("", "圆" * LONGEST, "圆" * AFTER + " …")


def test_without_the_word_it_is_how_the_text_begins() -> None:
    assert excerpt("A round table.", "owl") == Excerpt("", "", "A round table.")
    assert excerpt("A round table.", '"') == Excerpt("", "", "A round table.")
    assert excerpt("", "owl") == Excerpt("", "", "")


@given(st.text(max_size=600), st.text(max_size=20))
def test_it_is_short_and_on_one_line_whatever_is_sought_in_whatever(text: str, q: str) -> None:
    found = excerpt(text, q)
    assert found.found in text
    assert len(found.before) <= BEFORE + 2
    assert len(found.found) <= LONGEST
    assert len(found.after) <= AFTER + 2
    whole = found.before + found.found + found.after
    assert "\n" not in whole
