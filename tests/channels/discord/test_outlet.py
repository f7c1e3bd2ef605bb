"""The whole way of an answer, and the rules that hold for every answer, however it is cut."""

import re

from hypothesis import given

from moot.channels.discord.delivery import MOST_MESSAGES, Degree, Send
from moot.channels.discord.messages import LONGEST
from tests.channels.discord.streaming import (
    answers,
    cut_answers,
    degrees,
    messages,
    outlet,
    sent,
    short_answers,
)

FENCES = re.compile("`{3,}")
BLOCK = re.compile(r"```.*?```", re.DOTALL)
WORDS = re.compile(r"\w+")
ANSWER = """\
Alpha: Hello, @Bob. It is easy; see https://Example.org/A.

```py
print("Hello, World")
```
That is **all"""


def test_degree_0_sends_one_message_at_the_end() -> None:
    assert messages(ANSWER, 0) == [
        'Hello, <@11>. It is easy; see https://Example.org/A.\n```py\nprint("Hello, World")\n```\nThat is **all**'
    ]


def test_degree_1_sends_a_message_a_paragraph() -> None:
    assert messages(ANSWER, 1) == [
        "Hello, <@11>. It is easy; see https://Example.org/A.",
        '```py\nprint("Hello, World")\n```',
        "That is **all**",
    ]


def test_degree_2_pauses_and_types_before_all_messages_but_the_first() -> None:
    assert sent([ANSWER], outlet(2)) == [
        Send("Hello, <@11>. It is easy; see https://Example.org/A."),
        Send('```py\nprint("Hello, World")\n```', "code", pause=0.875, typing=0.9375),
        Send("That is **all**", "text", pause=0.875, typing=0.75),
    ]


def test_degree_3_sends_a_message_a_sentence_as_people_write() -> None:
    assert messages(ANSWER, 3) == [
        "hello <@11>.",
        "it is easy see https://Example.org/A.",
        '```py\nprint("Hello, World")\n```',
        "that is **all**",
    ]


def test_a_message_goes_as_soon_as_its_line_is_over() -> None:
    to = outlet(1)
    assert to.feed("One.\n") == []
    assert to.feed("T") == [Send("One.")]
    assert to.feed("wo.") == []
    assert to.end() == [Send("Two.")]


def test_a_tool_call_sends_what_there_is_and_closes_its_marks() -> None:
    for degree in (0, 1):
        to = outlet(degree)
        assert to.feed("Let me **look") == []
        assert [send.text for send in to.boundary()] == ["Let me **look**"]
        assert to.feed("Found:\n```py\nx") == ([Send("Found:")] if degree else [])
        assert [send.text for send in to.boundary()][-1].endswith("```py\nx\n```")
        assert [send.text for send in to.end()] == []


def test_what_does_not_fit_into_the_messages_of_a_stream_is_counted() -> None:
    to = outlet(0)
    sends = sent(["word " * 20_000], to)
    assert len(sends) == MOST_MESSAGES
    assert to.left_out == 100_000 - 100 - sum(
        len(send.text) for send in sends
    )  # but for spaces where it was cut


@given(cut=cut_answers(), degree=degrees)
def test_any_cut_of_a_stream_gives_the_same_messages(cut: tuple[str, list[str]], degree: Degree) -> None:
    text, chunks = cut
    whole = sent([text], outlet(degree, prefill="Hello there. b.", guard=True))
    assert sent(chunks, outlet(degree, prefill="Hello there. b.", guard=True)) == whole
    assert sent(list(text), outlet(degree, prefill="Hello there. b.", guard=True)) == whole


@given(text=answers, degree=degrees)
def test_every_message_fits_and_its_fences_are_balanced(text: str, degree: Degree) -> None:
    sends = sent([text], outlet(degree))
    assert len(sends) <= MOST_MESSAGES
    for send in sends:
        assert 0 < len(send.text) <= LONGEST
        assert len(FENCES.findall(send.text)) % 2 == 0


@given(text=answers, degree=degrees)
def test_no_mention_is_sent_that_was_not_resolved(text: str, degree: Degree) -> None:
    known = {"11"}
    for send in sent([text], outlet(degree)):
        prose = BLOCK.sub("", send.text)
        assert re.search("@(everyone|here)", prose, re.IGNORECASE) is None
        assert set(re.findall(r"<@[!&]?(\w+)>", prose)) <= known


@given(text=short_answers)
def test_nothing_is_lost_at_degrees_0_and_1(text: str) -> None:
    for label in ("Alpha:", "Beta: ", "[System: z]", "</think>", "@{Bob|11}", "@Bob", "<@11>", "<@99>", "😀"):
        text = text.replace(label, "")
    text = re.sub(r"([`~]{3,})[\w.+#-]*", r"\1\n", text)  # a language is no word of an answer
    wanted = WORDS.findall(text)
    for degree in (0, 1):
        assert WORDS.findall("\n".join(messages(text, degree))) == wanted
