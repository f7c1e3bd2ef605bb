from moot.context.fitting import cut, one_line


def test_what_is_too_long_is_cut_and_shows_it() -> None:
    assert cut("a table", 7) == "a table"
    assert cut("a table", 6) == "a tab…"
    assert cut("one two", 5) == "one…"


def test_lines_become_one() -> None:
    assert one_line(" a\n\n## heading\t b ", 100) == "a ## heading b"
    assert len(one_line("word " * 100, 50)) <= 50
