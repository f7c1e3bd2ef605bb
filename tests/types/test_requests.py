import msgspec

from moot.types.chunks import Text, Thought, ToolCall
from moot.types.requests import File, ModelMessage, ModelRequest, ToolResult, assistant_message, user_message

PICTURE = File("cat.png", "image/png", b"\x89PNG\r\n\x1a\n\x00\xff")


def test_user_and_assistant_message_turn_strings_into_text_parts() -> None:
    assert user_message(PICTURE, "What is this?") == ModelMessage("user", (PICTURE, Text("What is this?")))
    assert assistant_message("A cat.") == ModelMessage("assistant", (Text("A cat."),))


def test_model_message_survives_json_round_trip() -> None:
    message = assistant_message(
        "Words.",
        PICTURE,
        Thought("Hm.", "signed"),
        ToolCall("call_1", "look_up", "{}"),
        ToolResult("call_1", "look_up", "A meeting.", is_error=True),
    )
    assert msgspec.json.decode(msgspec.json.encode(message), type=ModelMessage) == message


def test_model_request_defaults_are_unset() -> None:
    request = ModelRequest(model="echo", messages=(user_message("Hello"),))
    assert (request.temperature, request.max_tokens, request.thinking, request.json_schema) == (None,) * 4
    assert (request.system, request.tools, request.stop) == ("", (), ())
