import msgspec
import pytest

from moot.server.openai.schemas import CompletionRequest, ImagePart, RefusalPart, TextPart, completion_usage
from moot.types.chunks import Usage

MINIMAL_REQUEST = {"model": "moot/debate", "messages": [{"role": "user", "content": "Why?"}]}


def test_completion_usage_contains_reasoning_and_cached_tokens() -> None:
    assert msgspec.to_builtins(completion_usage(Usage(input=10, output=5, reasoning=2, cached=4))) == {
        "prompt_tokens": 10,
        "completion_tokens": 5,
        "total_tokens": 15,
        "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }


@pytest.mark.parametrize(
    ("more", "discussion_id"),
    [({}, None), ({"discussion": "dis_1"}, "dis_1"), ({"metadata": {"discussion": "dis_2"}}, "dis_2")],
)
def test_discussion_id_is_read_from_field_or_metadata(more: dict[str, object], discussion_id: str | None) -> None:
    assert msgspec.convert(MINIMAL_REQUEST | more, CompletionRequest).discussion_id == discussion_id


def test_message_content_accepts_typed_parts() -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
        {"type": "refusal", "refusal": "No."},
    ]
    asked = msgspec.convert(MINIMAL_REQUEST | {"messages": [{"role": "user", "content": parts}]}, CompletionRequest)
    assert [type(part) for part in asked.messages[0].content or ()] == [TextPart, ImagePart, RefusalPart]


def test_unknown_field_is_rejected() -> None:
    with pytest.raises(msgspec.ValidationError, match="discusion"):
        msgspec.convert(MINIMAL_REQUEST | {"discusion": "dis_1"}, CompletionRequest)
