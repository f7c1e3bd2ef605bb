from moot.discord.format.pieces import CodeBlock, TextBuffer


def test_code_block_has_no_leading_text_by_default() -> None:
    assert CodeBlock("py", "x").leading_text == ""


def test_text_buffer_returns_appended_text() -> None:
    buffer = TextBuffer()
    assert (buffer.whole_text(), buffer.last_char(), buffer.length) == ("", "", 0)
    for part in ("ab", "c"):
        buffer.append_text(part)
    assert (buffer.whole_text(), buffer.last_char(), buffer.length) == ("abc", "c", 3)
    buffer.append_text("d")
    assert (buffer.whole_text(), buffer.last_char(), buffer.length) == ("abcd", "d", 4)
