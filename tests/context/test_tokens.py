from moot.context.tokens import TOKENS_A_FILE, tokens, tokens_of
from moot.model.chunks import Text, ToolCall
from moot.model.requests import File, ToolResult


def test_a_token_that_is_begun_is_one() -> None:
    assert [tokens("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_a_model_may_count_in_its_own_way() -> None:
    assert tokens("x" * 9, 1.5) == 6


def test_every_part_counts_and_a_file_as_much_as_a_file_does() -> None:
    parts = (Text("12345678"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "1"))
    assert tokens_of(parts) == 2 + 1 + 1
    assert tokens_of([File("a", "image/png", b"x" * 9999)], 1.0) == TOKENS_A_FILE
