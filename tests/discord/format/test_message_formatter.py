"""The whole pipeline for an answer, and the rules for every answer in any chunks."""

import re

import pytest
from hypothesis import given

from moot.discord.format.message_formatter import (
    MAX_MESSAGES,
    MAX_SINGLE_MESSAGES,
    DeliveryStyle,
    StreamDelivery,
    typing_seconds,
)
from moot.discord.format.messages import MAX_MESSAGE_CHARS, MessageKind, PlannedMessage
from moot.discord.format.pieces import CodeBlock, MarkdownTable, Prose
from tests.discord.answer_strategies import (
    answer_texts,
    chunked_answers,
    delivery_styles,
    format_chunks,
    format_messages,
    make_formatter,
    short_answer_texts,
)


def make_delivery(style: DeliveryStyle, *random_values: float) -> StreamDelivery:
    values = iter(random_values)
    return StreamDelivery(style, lambda: next(values))


def test_whole_delivery_gathers_text_and_sends_table_alone() -> None:
    formatter = make_delivery("whole")
    table = MarkdownTable("| a |\n|---|\n")
    assert (
        formatter.accept_pieces([Prose("One\n"), CodeBlock("py", "x"), Prose("\nTwo\n"), table, Prose("Three")]) == []
    )
    assert formatter.flush_pieces([Prose(" **four")]) == [
        PlannedMessage("One\n```py\nx\n```\nTwo"),
        PlannedMessage("| a |\n|---|", "table"),
        PlannedMessage("Three **four**"),
    ]
    assert formatter.flush_pieces([]) == []


def test_paragraph_delivery_sends_at_once_without_pauses() -> None:
    formatter = make_delivery("paragraphs")
    assert formatter.accept_pieces([Prose("One\n"), Prose("Two\n")]) == [
        PlannedMessage("One"),
        PlannedMessage("Two"),
    ]
    assert formatter.flush_pieces([Prose("*Three")]) == [PlannedMessage("*Three*")]


@pytest.mark.parametrize("style", ["typing", "sentences"])
def test_typing_and_sentence_delivery_add_random_pauses_and_typing(style: DeliveryStyle) -> None:
    formatter = make_delivery(style, 0.0, 1.0, 0.5)
    long = "x" * 200
    assert formatter.accept_pieces([Prose("One\n"), Prose("Two"), CodeBlock("", long), Prose(long)]) == [
        PlannedMessage("One"),
        PlannedMessage("Two", pause_seconds=0.25, typing_seconds=0.75),
        PlannedMessage(f"```\n{long}\n```", "code", pause_seconds=1.5, typing_seconds=2.6),
        PlannedMessage(long, pause_seconds=0.875, typing_seconds=2.0),
    ]


@pytest.mark.parametrize(
    ("characters", "kind", "seconds"),
    [
        (1, "text", 0.75),
        (75, "text", 0.75),
        (100, "text", 1.0),
        (400, "text", 4.0),
        (1950, "text", 4.0),
        (1, "code", 0.9375),
        (1950, "code", 5.0),
        (100, "table", 1.0),
    ],
)
def test_typing_seconds_is_10_ms_per_character_within_bounds(
    characters: int, kind: MessageKind, seconds: float
) -> None:
    assert typing_seconds(characters, kind) == pytest.approx(seconds)


def test_short_lines_are_gathered_after_max_single_messages() -> None:
    formatter = make_delivery("paragraphs")
    lines = [f"line {number}\n" for number in range(100)]
    sends = formatter.accept_pieces([Prose(line) for line in lines]) + formatter.flush_pieces([])
    assert [send.text for send in sends[:MAX_SINGLE_MESSAGES]] == [line.strip() for line in lines[:MAX_SINGLE_MESSAGES]]
    assert len(sends) == MAX_SINGLE_MESSAGES + 1
    assert sends[-1].text == "".join(lines[MAX_SINGLE_MESSAGES:]).strip()
    assert formatter.overflow_chars == 0


def test_delivery_is_limited_to_max_messages() -> None:
    formatter = make_delivery("paragraphs")
    sends = formatter.accept_pieces([Prose("x" * 1900)] * 50) + formatter.flush_pieces([])
    assert len(sends) == MAX_MESSAGES
    assert formatter.overflow_chars == 10 * 1900
    assert formatter.flush_pieces([Prose("more")]) == []
    assert formatter.overflow_chars == 10 * 1900 + 4


def test_blank_text_is_not_sent() -> None:
    assert make_delivery("paragraphs").accept_pieces([Prose(" \n")]) == []


FENCES = re.compile("`{3,}")
CODE_BLOCK = re.compile(r"```.*?```", re.DOTALL)
WORD = re.compile(r"\w+")
ANSWER = """\
Alpha: Hello, @Bob. It is easy; see https://Example.org/A.

```py
print("Hello, World")
```
That is **all"""


def test_whole_delivery_sends_one_message_at_the_end() -> None:
    assert format_messages(ANSWER, "whole") == [
        'Hello, <@11>. It is easy; see https://Example.org/A.\n```py\nprint("Hello, World")\n```\nThat is **all**'
    ]


def test_paragraph_delivery_sends_one_message_per_paragraph() -> None:
    assert format_messages(ANSWER, "paragraphs") == [
        "Hello, <@11>. It is easy; see https://Example.org/A.",
        '```py\nprint("Hello, World")\n```',
        "That is **all**",
    ]


def test_typing_delivery_pauses_before_every_message_but_the_first() -> None:
    assert format_chunks([ANSWER], make_formatter("typing")) == [
        PlannedMessage("Hello, <@11>. It is easy; see https://Example.org/A."),
        PlannedMessage('```py\nprint("Hello, World")\n```', "code", pause_seconds=0.875, typing_seconds=0.9375),
        PlannedMessage("That is **all**", "text", pause_seconds=0.875, typing_seconds=0.75),
    ]


def test_sentence_delivery_sends_one_humanized_message_per_sentence() -> None:
    assert format_messages(ANSWER, "sentences") == [
        "hello <@11>.",
        "it is easy see https://Example.org/A.",
        '```py\nprint("Hello, World")\n```',
        "that is **all**",
    ]


def test_paragraph_delivery_sends_message_when_line_ends() -> None:
    formatter = make_formatter("paragraphs")
    assert formatter.feed("One.\n") == []
    assert formatter.feed("T") == [PlannedMessage("One.")]
    assert formatter.feed("wo.") == []
    assert formatter.flush() == [PlannedMessage("Two.")]


def test_flush_sends_pending_text_with_closed_marks() -> None:
    for style in ("whole", "paragraphs"):
        formatter = make_formatter(style)
        assert formatter.feed("Let me **look") == []
        assert [send.text for send in formatter.flush()] == ["Let me **look**"]
        assert formatter.feed("Found:\n```py\nx") == ([PlannedMessage("Found:")] if style == "paragraphs" else [])
        assert [send.text for send in formatter.flush()][-1].endswith("```py\nx\n```")
        assert [send.text for send in formatter.flush()] == []


def test_overflow_chars_counts_text_beyond_max_messages() -> None:
    formatter = make_formatter("whole")
    sends = format_chunks(["word " * 20_000], formatter)
    assert len(sends) == MAX_MESSAGES
    removed_spaces = 100
    assert formatter.overflow_chars == 100_000 - removed_spaces - sum(len(send.text) for send in sends)


@given(cut=chunked_answers(), style=delivery_styles)
def test_messages_do_not_depend_on_chunks(cut: tuple[str, list[str]], style: DeliveryStyle) -> None:
    text, chunks = cut
    whole = format_chunks([text], make_formatter(style, prefill="Hello there. b.", block_impersonation=True))
    assert format_chunks(chunks, make_formatter(style, prefill="Hello there. b.", block_impersonation=True)) == whole
    assert (
        format_chunks(list(text), make_formatter(style, prefill="Hello there. b.", block_impersonation=True)) == whole
    )


@given(text=answer_texts, style=delivery_styles)
def test_every_message_fits_and_has_balanced_fences(text: str, style: DeliveryStyle) -> None:
    sends = format_chunks([text], make_formatter(style))
    assert len(sends) <= MAX_MESSAGES
    for send in sends:
        assert 0 < len(send.text) <= MAX_MESSAGE_CHARS
        assert len(FENCES.findall(send.text)) % 2 == 0


@given(text=answer_texts, style=delivery_styles)
def test_only_resolved_mentions_are_sent(text: str, style: DeliveryStyle) -> None:
    known = {"11"}
    for send in format_chunks([text], make_formatter(style)):
        prose = CODE_BLOCK.sub("", send.text)
        assert re.search("@(everyone|here)", prose, re.IGNORECASE) is None
        assert set(re.findall(r"<@[!&]?(\w+)>", prose)) <= known


@given(text=short_answer_texts)
def test_whole_and_paragraph_delivery_lose_no_word(text: str) -> None:
    for label in ("Alpha:", "Beta: ", "[System: z]", "</think>", "@{Bob|11}", "@Bob", "<@11>", "<@99>", "😀"):
        text = text.replace(label, "")
    text = re.sub(r"([`~]{3,})[\w.+#-]*", r"\1\n", text)  # the language of a code block is no word
    wanted = WORD.findall(text)
    for style in ("whole", "paragraphs"):
        assert WORD.findall("\n".join(format_messages(text, style))) == wanted
