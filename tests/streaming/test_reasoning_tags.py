from hypothesis import given
from hypothesis import strategies as st

from moot.streaming.reasoning_tags import (
    ReasoningTagParser,
    StreamPiece,
    TextPiece,
    TextRetraction,
    ThoughtPiece,
)


def parse_chunks(*chunks: str) -> ReasoningTagParser:
    capture = ReasoningTagParser()
    for chunk in chunks:
        capture.feed(chunk)
    capture.close()
    return capture


def visible_text(pieces: list[StreamPiece]) -> str:
    """Return the visible text after these pieces."""
    text = ""
    for piece in pieces:
        match piece:
            case TextPiece(more):
                text += more
            case TextRetraction():
                text = ""
    return text


def test_reasoning_tag_parser_separates_thoughts_and_details() -> None:
    capture = parse_chunks(
        "<think>hmm</think>\n\nYes.<details open><summary>Why</summary>Because\nof this.</details> Really."
    )
    assert capture.text == "Yes. Really."
    assert capture.thoughts == "hmm"
    assert capture.details == "Because\nof this."


def test_stray_closing_tag_turns_earlier_text_into_thought() -> None:
    capture = ReasoningTagParser()
    first = capture.feed("Let me see. ")
    second = capture.feed("It is 4.</think>The answer is 4.")
    assert first == [TextPiece("Let me see. ")]
    assert second == [
        TextPiece("It is 4."),
        TextRetraction(),
        ThoughtPiece("Let me see. It is 4."),
        TextPiece("The answer is 4."),
    ]
    assert (capture.text, capture.thoughts) == ("The answer is 4.", "Let me see. It is 4.")


def test_unclosed_block_is_captured_at_end() -> None:
    assert parse_chunks("Yes.<think>but wh").thoughts == "but wh"
    assert parse_chunks("Yes.<details>small print").details == "small print"
    assert parse_chunks("1 <").text == "1 <"
    assert parse_chunks("a <thi").text == "a <thi"


def test_tags_inside_code_are_kept_as_text() -> None:
    for text in (
        "Write\n```html\n<details><summary>x</summary></details>\n``` so.",
        "The tag `<think>` opens it and `</think>` closes it.",
        "A fence:\n````\n```\n<think>\n```` ends.",
    ):
        capture = parse_chunks(text)
        assert (capture.text, capture.thoughts, capture.details) == (text, "", "")


def test_fence_starts_at_line_start_and_code_span_ends_at_line_end() -> None:
    for thought in ("I could use ``` here, hm.\nSo 4.\n", "it is 5` long ", "two `` ticks "):
        capture = parse_chunks(f"{thought}</think>The answer is 4.")
        assert (capture.text, capture.thoughts) == ("The answer is 4.", thought)
    capture = parse_chunks("see `<think>`")
    assert (capture.text, capture.thoughts) == ("see `<think>`", "")
    capture = parse_chunks("see `<think>so")
    assert (capture.text, capture.thoughts) == ("see `", "so")


def test_backtick_run_may_be_split_between_chunks() -> None:
    text = "`a``<think>` is one span"
    for cut in range(len(text)):
        capture = parse_chunks(text[:cut], text[cut:])
        assert (capture.text, capture.thoughts) == (text, ""), cut


def test_fences_of_every_form_protect_tags() -> None:
    for text in (
        "```py\nx = '```'\ny = '<think>'\n```\nThe answer",
        "~~~\n<think>\n~~~\nThe answer",
        "> ```\n> <think>\n> ```\nThe answer",
        "- ```html\n  <details>x</details>\n  ```\nThe answer",
        "1. ```\n<think>\n   ```\nThe answer",
    ):
        capture = parse_chunks(text)
        assert (capture.text, capture.thoughts, capture.details) == (text, "", "")


def test_whitespace_alone_is_no_text() -> None:
    capture = parse_chunks(" \n", "\t", " ")
    assert capture.text == ""
    assert parse_chunks("\n\n  indented").text == "  indented"


def test_reasoning_tag_parser_takes_linear_time_for_hostile_text() -> None:
    assert parse_chunks("<details>" + "<summary>" * 100_000).details == ""
    capture = ReasoningTagParser()
    for _ in range(100_000):
        capture.feed("`")
    capture.close()
    assert len(capture.text) == 100_000
    assert parse_chunks("`" + "<think>" * 20_000 + "` x").text == "`"
    capture = ReasoningTagParser()
    capture.feed("`<think>")
    for _ in range(50_000):
        capture.feed("``a")
    capture.close()
    assert parse_chunks(*[" "] * 1_000_000, "x").text == " " * 1_000_000 + "x"


def test_lone_backtick_does_not_protect_tags_on_next_line() -> None:
    capture = parse_chunks("it's 5` long\n<think>secret</think>done")
    assert (capture.text, capture.thoughts) == ("it's 5` long\ndone", "secret")


def test_details_may_be_nested_and_other_tags_are_kept() -> None:
    capture = parse_chunks("<b>a</b><details>x<details>y</details>z</details></details>")
    assert capture.details == "x<details>y</details>z"
    assert capture.text == "<b>a</b></details>"


def test_plain_text_is_emitted_immediately() -> None:
    capture = ReasoningTagParser()
    assert capture.feed("plain words") == [TextPiece("plain words")]
    assert capture.feed(" 1 < 2") == [TextPiece(" 1 < 2")]
    assert capture.feed(" and <") == [TextPiece(" and ")]
    assert capture.feed("b> too") == [TextPiece("<b> too")]


TAG_FRAGMENTS = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<details>",
        "</details>",
        "<summary>s</summary>",
        "`",
        "```",
        "\n",
        "<",
        ">",
        "a b",
        "</",
    ]
)


@given(st.lists(TAG_FRAGMENTS | st.text(max_size=3), max_size=12), st.data())
def test_reasoning_tag_result_does_not_depend_on_chunks(parts: list[str], data: st.DataObject) -> None:
    text = "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    chunks = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    whole, pieced = parse_chunks(text), parse_chunks(*chunks)
    assert pieced.text == whole.text
    assert pieced.thoughts == whole.thoughts
    assert pieced.details == whole.details


@given(st.lists(TAG_FRAGMENTS | st.text(max_size=3), max_size=12))
def test_emitted_pieces_add_up_to_final_text(parts: list[str]) -> None:
    capture = ReasoningTagParser()
    pieces = [piece for part in parts for piece in capture.feed(part)] + capture.close()
    assert visible_text(pieces) == capture.text
