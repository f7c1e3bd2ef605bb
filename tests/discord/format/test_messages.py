import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moot.discord.format.messages import (
    MAX_MESSAGE_CHARS,
    MOOT_AUTHOR,
    PlannedMessage,
    close_open_marks,
    join_messages,
    split_into_messages,
    split_piece,
)
from moot.discord.format.pieces import CodeBlock, MarkdownTable, Prose
from tests.discord.answer_strategies import answer_texts

CODE_LINE = "x" * 99 + "\n"


def test_split_piece_keeps_short_piece_whole() -> None:
    assert split_piece(Prose("a")) == [PlannedMessage("a", "text")]
    assert split_piece(CodeBlock("py", "a", leading_text="...")) == [PlannedMessage("...\n```py\na\n```", "code")]
    assert split_piece(MarkdownTable("| a |\n|---|\n")) == [PlannedMessage("| a |\n|---|\n", "table")]


def test_split_piece_repeats_fence_and_language_of_code() -> None:
    parts = [part.text for part in split_piece(CodeBlock("python", (CODE_LINE * 60).rstrip()))]
    assert len(parts) == 4
    assert all(re.fullmatch(r"```python\n(x{99}\n)+```", part) and len(part) <= MAX_MESSAGE_CHARS for part in parts)
    assert sum(part.count("\n") - 1 for part in parts) == 60


def test_split_piece_cuts_overlong_code_line() -> None:
    parts = [part.text for part in split_piece(CodeBlock("", "x" * 5000, leading_text="-" * 500))]
    assert all(len(part) <= MAX_MESSAGE_CHARS for part in parts)
    assert sum(part.count("x") for part in parts) == 5000


def test_split_piece_escapes_fence_inside_code() -> None:
    [part] = split_piece(CodeBlock("", "```\na\n```"))
    assert part.text.count("```") == 2
    assert part.text.replace("\u200b", "") == "```\n```\na\n```\n```"


def test_split_piece_shortens_backtick_run_in_prose() -> None:
    assert split_piece(Prose("use ```x``` here")) == [PlannedMessage("use ``x`` here", "text")]


def test_split_piece_cuts_table_between_rows_and_repeats_header() -> None:
    head, row = "| a | b |\n|---|---|\n", "| some words | more words |\n"
    parts = [part.text for part in split_piece(MarkdownTable(head + row * 200))]
    assert all(part.startswith(head) and len(part) <= MAX_MESSAGE_CHARS for part in parts)
    assert sum(part.count(row.strip()) for part in parts) == 200


def test_split_piece_cuts_table_with_overlong_header() -> None:
    table = "| " + "a " * 2000 + "|\n|---|\n"
    parts = [part.text for part in split_piece(MarkdownTable(table))]
    assert "".join(parts) == table
    assert all(len(part) <= MAX_MESSAGE_CHARS for part in parts)


def test_split_piece_cuts_prose_after_sentences() -> None:
    text = "This is a sentence. " * 300
    parts = [part.text for part in split_piece(Prose(text))]
    assert "".join(parts) == text
    assert all(part.endswith(".") and len(part) <= MAX_MESSAGE_CHARS for part in parts[:-1])


def test_join_messages_joins_only_parts_that_fit() -> None:
    text, code, table = (
        PlannedMessage("a", "text"),
        PlannedMessage("```\nb\n```", "code"),
        PlannedMessage("| a |", "table"),
    )
    assert join_messages(text, text) == PlannedMessage("aa", "text")
    assert join_messages(text, code) == PlannedMessage("a\n```\nb\n```", "text")
    assert join_messages(code, text) == PlannedMessage("```\nb\n```\na", "text")
    assert join_messages(code, code) == PlannedMessage("```\nb\n```\n```\nb\n```", "text")
    assert join_messages(text, table) is None
    assert join_messages(table, text) is None
    assert join_messages(text, PlannedMessage("x" * MAX_MESSAGE_CHARS, "text")) is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a **b", "a **b**"),
        ("a *b", "a *b*"),
        ("a **b *c", "a **b *c***"),
        ("a ~~b", "a ~~b~~"),
        ("a __b", "a __b__"),
        ("a ||b", "a ||b||"),
        ("a `b", "a `b`"),
        ("a ``b ` c", "a ``b ` c``"),
        ("**a `b*", "**a `b*`**"),
        ("a **b** c", "a **b** c"),
        ("a `**` b", "a `**` b"),
        ("```\n**a\n```", "```\n**a\n```"),
        ("* a", "* a"),
        ("2*3", "2*3"),
        ("a || b", "a || b"),
        ("a **", "a **"),
        ("a `", "a `"),
        ("`a\nb", "`a\nb"),
        ("`a ``b``", "`a ``b``"),  # one more would make a fence
    ],
)
def test_close_open_marks_adds_closing_marks(text: str, wanted: str) -> None:
    assert close_open_marks(text) == wanted


def test_close_open_marks_keeps_full_message_unchanged() -> None:
    full = "**" + "x" * (MAX_MESSAGE_CHARS - 2)
    assert close_open_marks(full) == full


@given(st.text(st.characters(exclude_characters="`~"), max_size=6000))
def test_split_into_messages_loses_no_word(text: str) -> None:
    pieces = split_into_messages(text)
    assert all(0 < len(piece) <= 1950 for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_split_into_messages_repeats_code_fences() -> None:
    first, second = split_into_messages(f"Look:\n```py\n{CODE_LINE * 30}```\nThat is all.")
    assert (first.count("```"), second.count("```")) == (2, 2)
    assert first.startswith("Look:\n```py\nx")
    assert second.startswith("```py\nx")
    assert second.endswith("```\nThat is all.")


@given(answer_texts)
def test_split_into_messages_balances_fences(text: str) -> None:
    for message in split_into_messages(text):
        assert 0 < len(message) <= MAX_MESSAGE_CHARS
        assert len(re.findall("`{3,}", message)) % 2 == 0


def test_planned_message_is_text_of_moot_without_pauses_by_default() -> None:
    post = PlannedMessage("Yes.")
    assert (post.kind, post.author, post.pause_seconds, post.typing_seconds, post.is_reasoning) == (
        "text",
        MOOT_AUTHOR,
        0.0,
        0.0,
        False,
    )
