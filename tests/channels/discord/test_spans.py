import pytest

from moot.channels.discord.spans import outside


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", "A"),
        ("a `b` c", "A `b` C"),
        ("a ``b ` c`` d", "A ``b ` c`` D"),
        ("a `b\nc` d", "A `B\nC` D"),  # a span ends on its line
        ("a `b", "A `B"),
        ("`b` `c`", "`b` `c`"),
    ],
)
def test_an_edit_leaves_spans_of_code_alone(text: str, wanted: str) -> None:
    assert outside(str.upper, text) == wanted


def test_what_is_done_inside_can_be_said() -> None:
    assert outside(str.upper, "a `b` c", inside=lambda span: f"[{span}]") == "A [`b`] C"
