"""Answers as they are streamed, cut anywhere, and what a channel is sent of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from moot.discord.format.mentions import ChannelMember, ChannelMembers
from moot.discord.format.pieces import MarkdownPiece
from moot.discord.format.pipeline import DeliveryStyle, MessageFormatter, OutgoingMessage
from moot.discord.format.segmenter import Segmenter

BOB = ChannelMember("11", ("Bob", "Bobby B"))
TWINS = (ChannelMember("12", ("Sam",)), ChannelMember("13", ("Sam",)))
ROOM = ChannelMembers(participant="Alpha", other_participants=("Beta", "Gamma Ray"), members=(BOB, *TWINS))
CHANCE = 0.5


def outlet(degree: DeliveryStyle = 1, *, prefill: str = "", guard: bool = False) -> MessageFormatter:
    return MessageFormatter(
        delivery_style=degree,
        channel_members=ROOM,
        random_source=lambda: CHANCE,
        prefill=prefill,
        block_impersonation=guard,
    )


def sent(chunks: Sequence[str], to: MessageFormatter) -> list[OutgoingMessage]:
    sends = [send for chunk in chunks for send in to.feed(chunk)]
    return sends + to.finish_stream()


def messages(text: str, degree: DeliveryStyle = 1, *, prefill: str = "", guard: bool = False) -> list[str]:
    """What is sent of an answer that comes one character at a time."""
    return [send.text for send in sent(list(text), outlet(degree, prefill=prefill, guard=guard))]


def pieces(text: str, *, sentences: bool = False) -> list[MarkdownPiece]:
    segmenter = Segmenter(sentences=sentences)
    found = [piece for char in text for piece in segmenter.feed(char)]
    return found + segmenter.finish_text()


# What answers are made of, and what trips over its neighbours.
_SHORT = (
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
_LONG = ("x" * 300, "word " * 100, "line\n" * 30, "A sentence is here. " * 40, "| cell |\n" * 80)
answers = st.lists(st.sampled_from(_SHORT + _LONG), min_size=1, max_size=30).map("".join)
short_answers = st.lists(st.sampled_from(_SHORT), min_size=1, max_size=30).map("".join)
degrees: st.SearchStrategy[DeliveryStyle] = st.sampled_from((0, 1, 2, 3))


@st.composite
def cut_answers(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return an answer, and the same in chunks."""
    text = draw(answers)
    size = draw(st.integers(1, 60))
    first = draw(st.integers(0, size))
    return text, [text[:first], *(text[at : at + size] for at in range(first, len(text), size))]
