import pytest

from moot.engine.estimate import counted, estimate
from moot.model.chunks import ToolCall, Usage
from moot.model.discussions import Message
from moot.model.measures import Counted
from moot.model.requests import File, ModelRequest, ToolResult, assistant, user


def test_four_characters_are_a_token() -> None:
    request = ModelRequest(model="x", system="12345678", messages=(user("1234"), assistant("123")))
    usage = estimate(request, 5)
    assert (usage.input, usage.output, usage.estimated) == (2 + 1 + 1, 2, True)


def test_everything_sent_counts() -> None:
    parts = (File("a", "image/png", b"x"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "12345678"))
    assert estimate(ModelRequest(model="x", messages=(user(*parts),)), 0).input == 1000 + 1 + 2


def test_a_model_that_is_known_to_count_otherwise_is_believed() -> None:
    request = ModelRequest(model="x", system="12345678", messages=(user("1234"),))
    usage = estimate(request, 5, 2.0)
    assert (usage.input, usage.output) == (4 + 2, 3)


def said(words: str, usage: Usage | None, model: str | None = "a/one", **more: str) -> Message:
    return Message(
        id="m",
        discussion="d",
        role="assistant",
        content=words,
        usage=usage,
        model=model,
        **more,  # type: ignore[arg-type]
    )


def test_answers_are_compared_with_what_was_counted_for_them_by_model() -> None:
    turns = [
        said("x" * 30, Usage(999, 10)),
        said("x" * 10, Usage(1, 10), details="x" * 5),
        said("x" * 12, Usage(1, 4), "b/two"),
    ]
    assert counted(turns) == {"a/one": Counted(45, 20), "b/two": Counted(12, 4)}


def test_thoughts_count_neither_as_words_nor_as_tokens() -> None:
    assert counted([said("x" * 30, Usage(1, 110, reasoning=100), thoughts="Well.")]) == {
        "a/one": Counted(30, 10)
    }


@pytest.mark.parametrize(
    "turn",
    [
        said("x" * 40, Usage(1, 10, estimated=True)),
        said("x" * 40, None),
        said("x" * 40, Usage(1, 10), None),
        said("x" * 40, Usage(1, 90), thoughts="Nobody says how many tokens these were."),
        said("", Usage(1, 10)),
        said("x" * 40, Usage()),
        said("x" * 400, Usage(1, 1)),
        said("x", Usage(1, 400)),
    ],
    ids=["guessed", "unknown", "nobody's", "thoughts", "empty", "nothing", "too few", "too many"],
)
def test_what_teaches_nothing_is_left_out(turn: Message) -> None:
    assert counted([turn]) == {}


def test_a_turn_of_speech_and_actions_teaches_nothing() -> None:
    turn = Message(
        id="msg_1",
        discussion="dis_1",
        role="assistant",
        content="Look. " * 20,
        model="a/one",
        usage=Usage(1, 60),
        script="[]",
    )
    assert counted([turn]) == {}
