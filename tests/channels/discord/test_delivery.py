import pytest

from moot.channels.discord.delivery import (
    MOST_MESSAGES,
    SINGLE_MESSAGES,
    Degree,
    Delivery,
    Send,
    typing_seconds,
)
from moot.channels.discord.messages import Kind
from moot.channels.discord.pieces import Code, Prose, Table


def delivery(degree: Degree, *chances: float) -> Delivery:
    told = iter(chances)
    return Delivery(degree, lambda: next(told))


def test_degree_0_gathers_and_a_table_is_sent_alone() -> None:
    to = delivery(0)
    table = Table("| a |\n|---|\n")
    assert to.take([Prose("One\n"), Code("py", "x"), Prose("\nTwo\n"), table, Prose("Three")]) == []
    assert to.flush([Prose(" **four")]) == [
        Send("One\n```py\nx\n```\nTwo"),
        Send("| a |\n|---|", "table"),
        Send("Three **four**"),
    ]
    assert to.flush([]) == []


def test_degree_1_sends_at_once_and_without_pauses() -> None:
    to = delivery(1)
    assert to.take([Prose("One\n"), Prose("Two\n")]) == [Send("One"), Send("Two")]
    assert to.flush([Prose("*Three")]) == [Send("*Three*")]


@pytest.mark.parametrize("degree", [2, 3])
def test_degrees_2_and_3_pause_by_chance_and_type(degree: Degree) -> None:
    to = delivery(degree, 0.0, 1.0, 0.5)
    long = "x" * 200
    assert to.take([Prose("One\n"), Prose("Two"), Code("", long), Prose(long)]) == [
        Send("One"),
        Send("Two", pause=0.25, typing=0.75),
        Send(f"```\n{long}\n```", "code", pause=1.5, typing=2.6),
        Send(long, pause=0.875, typing=2.0),
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
def test_typing_takes_10_ms_a_character_within_bounds(characters: int, kind: Kind, seconds: float) -> None:
    assert typing_seconds(characters, kind) == pytest.approx(seconds)


def test_many_short_lines_are_gathered_before_they_use_up_the_messages() -> None:
    to = delivery(1)
    lines = [f"line {number}\n" for number in range(100)]
    sends = to.take([Prose(line) for line in lines]) + to.flush([])
    assert [send.text for send in sends[:SINGLE_MESSAGES]] == [
        line.strip() for line in lines[:SINGLE_MESSAGES]
    ]
    assert len(sends) == SINGLE_MESSAGES + 1
    assert sends[-1].text == "".join(lines[SINGLE_MESSAGES:]).strip()
    assert to.left_out == 0


def test_no_stream_has_more_than_40_messages() -> None:
    to = delivery(1)
    sends = to.take([Prose("x" * 1900)] * 50) + to.flush([])
    assert len(sends) == MOST_MESSAGES
    assert to.left_out == 10 * 1900
    assert to.flush([Prose("more")]) == []
    assert to.left_out == 10 * 1900 + 4


def test_blank_text_is_no_message() -> None:
    assert delivery(1).take([Prose(" \n")]) == []
