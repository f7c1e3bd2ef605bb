from moot.discord.format.pieces import CodeBlock, TextBuffer


def test_code_block_has_no_leading_text_by_default() -> None:
    assert CodeBlock("py", "x").leading_text == ""


def test_text_buffer_returns_appended_text() -> None:
    held = TextBuffer()
    assert (held.whole_text(), held.last_char(), held.length) == ("", "", 0)
    for part in ("ab", "c"):
        held.append_text(part)
    assert (held.whole_text(), held.last_char(), held.length) == ("abc", "c", 3)
    held.append_text("d")
    assert (held.whole_text(), held.last_char(), held.length) == ("abcd", "d", 4)
