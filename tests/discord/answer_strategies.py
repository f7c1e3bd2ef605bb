"""Strategies for streamed answers in any chunks, and helpers that format them for Discord."""

from collections.abc import Sequence

from hypothesis import strategies as st

from moot.discord.format.mentions import ChannelMember, ChannelMembers
from moot.discord.format.message_formatter import DeliveryStyle, MessageFormatter
from moot.discord.format.messages import PlannedMessage
from moot.discord.format.pieces import MarkdownPiece
from moot.discord.format.segmenter import Segmenter

BOB = ChannelMember("11", ("Bob", "Bobby B"))
SAME_NAME_MEMBERS = (ChannelMember("12", ("Sam",)), ChannelMember("13", ("Sam",)))
CHANNEL_MEMBERS = ChannelMembers(
    participant="Alpha", other_participants=("Beta", "Gamma Ray"), members=(BOB, *SAME_NAME_MEMBERS)
)
RANDOM_VALUE = 0.5


def make_formatter(
    style: DeliveryStyle = "paragraphs", *, prefill: str = "", block_impersonation: bool = False
) -> MessageFormatter:
    return MessageFormatter(
        delivery_style=style,
        channel_members=CHANNEL_MEMBERS,
        random_source=lambda: RANDOM_VALUE,
        prefill=prefill,
        block_impersonation=block_impersonation,
    )


def format_chunks(chunks: Sequence[str], formatter: MessageFormatter) -> list[PlannedMessage]:
    sends = [send for chunk in chunks for send in formatter.feed(chunk)]
    return sends + formatter.flush()


def format_messages(
    text: str, style: DeliveryStyle = "paragraphs", *, prefill: str = "", block_impersonation: bool = False
) -> list[str]:
    """Return the messages for an answer that is streamed one character at a time."""
    return [
        send.text
        for send in format_chunks(
            list(text), make_formatter(style, prefill=prefill, block_impersonation=block_impersonation)
        )
    ]


def segment_text(text: str, *, sentences: bool = False) -> list[MarkdownPiece]:
    segmenter = Segmenter(sentences=sentences)
    found = [piece for char in text for piece in segmenter.feed(char)]
    return found + segmenter.finish_text()


# Parts of answers, and parts that interfere with their neighbours.
_SHORT_FRAGMENTS = (
    *(
        "a",
        "Hello there. ",
        "b. ",
        "e.g. ",
        "3.5 ",
        "...",
        "!",
        "?\n",
        "\n",
        "\n\n",
        "\n\n\n",
        "  ",
        "  \n",
        "> ",
        "- ",
    ),
    *(
        "```",
        "```py\n",
        "\n```\n",
        "~~~\n",
        "````",
        "`",
        "``",
        "| a | b |\n",
        "|---|---|\n",
        "|",
        "||",
        "**",
        "*",
        "~~",
    ),
    *("(", ")", "[", "]", '"', "「", "」", "。", "<b", ">", "<", "{", "}", "https://a.b/c.d", "😀", "😀😀 "),
    *(
        "@",
        "@Bob",
        "@everyone",
        "@here",
        "<@11>",
        "<@99>",
        "@{Bob|11}",
        "@Sam",
        "Alpha:",
        "Beta: ",
        "\nBeta: x",
    ),
    *("[System: z]", "</think>"),
)
_LONG_FRAGMENTS = ("x" * 300, "word " * 100, "line\n" * 30, "A sentence is here. " * 40, "| cell |\n" * 80)
answer_texts = st.lists(st.sampled_from(_SHORT_FRAGMENTS + _LONG_FRAGMENTS), min_size=1, max_size=30).map("".join)
short_answer_texts = st.lists(st.sampled_from(_SHORT_FRAGMENTS), min_size=1, max_size=30).map("".join)
delivery_styles: st.SearchStrategy[DeliveryStyle] = st.sampled_from(("whole", "paragraphs", "typing", "sentences"))


@st.composite
def chunked_answers(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Draw an answer, and the same answer in chunks."""
    text = draw(answer_texts)
    size = draw(st.integers(1, 60))
    first = draw(st.integers(0, size))
    return text, [text[:first], *(text[at : at + size] for at in range(first, len(text), size))]
