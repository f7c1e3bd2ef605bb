"""Answers as they are streamed, cut anywhere, and what a channel is sent of them."""

from collections.abc import Sequence

from hypothesis import strategies as st

from moot.discord.format.mentions import Member, Room
from moot.discord.format.pieces import Piece
from moot.discord.format.pipeline import Degree, Outlet, Send
from moot.discord.format.segmenter import Segmenter

BOB = Member("11", ("Bob", "Bobby B"))
TWINS = (Member("12", ("Sam",)), Member("13", ("Sam",)))
ROOM = Room(speaker="Alpha", others=("Beta", "Gamma Ray"), members=(BOB, *TWINS))
CHANCE = 0.5


def outlet(degree: Degree = 1, *, prefill: str = "", guard: bool = False) -> Outlet:
    return Outlet(degree=degree, room=ROOM, chance=lambda: CHANCE, prefill=prefill, guard=guard)


def sent(chunks: Sequence[str], to: Outlet) -> list[Send]:
    sends = [send for chunk in chunks for send in to.feed(chunk)]
    return sends + to.end()


def messages(text: str, degree: Degree = 1, *, prefill: str = "", guard: bool = False) -> list[str]:
    """What is sent of an answer that comes one character at a time."""
    return [send.text for send in sent(list(text), outlet(degree, prefill=prefill, guard=guard))]


def pieces(text: str, *, sentences: bool = False) -> list[Piece]:
    segmenter = Segmenter(sentences=sentences)
    found = [piece for char in text for piece in segmenter.feed(char)]
    return found + segmenter.end()


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
degrees: st.SearchStrategy[Degree] = st.sampled_from((0, 1, 2, 3))


@st.composite
def cut_answers(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Return an answer, and the same in chunks."""
    text = draw(answers)
    size = draw(st.integers(1, 60))
    first = draw(st.integers(0, size))
    return text, [text[:first], *(text[at : at + size] for at in range(first, len(text), size))]
