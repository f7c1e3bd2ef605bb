from moot.engine.estimate import estimate
from moot.model.chunks import ToolCall
from moot.model.requests import File, ModelRequest, ToolResult, assistant, user


def test_four_characters_are_a_token() -> None:
    request = ModelRequest(model="x", system="12345678", messages=(user("1234"), assistant("123")))
    usage = estimate(request, "12345")
    assert (usage.input, usage.output, usage.estimated) == (2 + 1 + 1, 2, True)


def test_everything_sent_counts() -> None:
    parts = (File("a", "image/png", b"x"), ToolCall("1", "f", "1234"), ToolResult("1", "f", "12345678"))
    assert estimate(ModelRequest(model="x", messages=(user(*parts),)), "").input == 1000 + 1 + 2
