from moot.discord.format.pieces import CodeBlock, TextBuffer


def test_code_has_nothing_before_it_unless_it_is_said() -> None:
    assert CodeBlock("py", "x").leading_text == ""


def test_what_is_held_grows_and_is_read_at_any_time() -> None:
    held = TextBuffer()
    assert (held.whole_text(), held.last_char(), held.length) == ("", "", 0)
    for part in ("ab", "c"):
        held.append_text(part)
    assert (held.whole_text(), held.last_char(), held.length) == ("abc", "c", 3)
    held.append_text("d")
    assert (held.whole_text(), held.last_char(), held.length) == ("abcd", "d", 4)
