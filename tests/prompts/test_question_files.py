import re

from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from moot.prompts.attachments import build_question, inline_text_file
from moot.types.chunks import Text
from moot.types.requests import File, ModelMessage

PICTURE = File("cat.png", "image/png", b"\x89PNG\r\n\x1a\n")
NOTES = File("notes.md", "text/plain", b"# Notes\n\n```python\nprint('round')\n```\n")


def message_text(message: ModelMessage) -> str:
    return "\n\n".join(part.text if isinstance(part, Text) else f"({part})" for part in message.parts)


def test_build_question_sends_plain_question_unchanged() -> None:
    assert build_question("What is a moot?") == ModelMessage("user", (Text("What is a moot?"),))


def test_build_question_with_files_and_stdin_matches_snapshot() -> None:
    asked = build_question("What do these say?", "12 lines\n", [NOTES, File("a.txt", "text/plain", b"short\n\n")])
    assert message_text(asked) == snapshot("""\
notes.md:
````
# Notes

```python
print('round')
```
````

a.txt:
```
short
```

Standard input:
```
12 lines
```

What do these say?\
""")


def test_build_question_puts_attachments_before_question() -> None:
    asked = build_question("What is this?", "piped", [PICTURE, NOTES])
    assert asked.parts[0] is PICTURE
    titles = [part.text.split("\n")[0] for part in asked.parts if isinstance(part, Text)]
    assert titles == ["notes.md:", "Standard input:", "What is this?"]


def test_inline_text_file_returns_image_unchanged() -> None:
    assert inline_text_file(PICTURE) is PICTURE


def test_build_question_omits_empty_standard_input() -> None:
    assert "Standard input" not in message_text(build_question("Well?", ""))


@given(st.lists(st.sampled_from(["`", "```", "`````", "words", " ", "\n"])).map("".join))
def test_inline_text_file_fence_contains_any_text(content: str) -> None:
    part = inline_text_file(File("any.txt", "text/plain", content.encode()))
    assert isinstance(part, Text)
    title, fence, *inside, last = part.text.split("\n")
    assert title == "any.txt:"
    assert re.fullmatch("`{3,}", fence)
    assert last == fence
    assert fence not in "\n".join(inside)
    assert "\n".join(inside) == content.rstrip()


def test_inline_text_file_fence_is_longer_than_backticks_in_file() -> None:
    content = "`" * 1_000_000
    part = inline_text_file(File("any.txt", "text/plain", content.encode()))
    assert isinstance(part, Text)
    assert part.text == f"any.txt:\n{content}`\n{content}\n{content}`"
