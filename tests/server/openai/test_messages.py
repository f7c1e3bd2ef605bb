"""How a request of an OpenAI client becomes messages: text, authors, files, and what is rejected."""

import base64
from typing import Any

import msgspec
import pytest

from moot.server.openai.runner import (
    FILES_ONLY_TEXT,
    CompletionInput,
    apply_settings,
    parse_messages,
    reject_unsupported_fields,
)
from moot.server.openai.schemas import CompletionRequest
from moot.types.errors import UsageError
from moot.types.participants import Participant, make_participants
from moot.types.requests import user_message

PNG = b"\x89PNG\r\n\x1a\n rest"
IMAGE_URL = "data:image/png;base64," + base64.b64encode(PNG).decode()
USER_MESSAGE = {"role": "user", "content": "Why?"}


def completion_request(*messages: dict[str, Any], **more: Any) -> CompletionRequest:
    return msgspec.convert({"model": "moot/debate", "messages": messages or [USER_MESSAGE], **more}, CompletionRequest)


def parse_input(*messages: dict[str, Any], participant_count: int = 2) -> CompletionInput:
    return parse_messages(completion_request(*messages), make_participants(("x/y",) * participant_count))


def test_last_message_is_question_and_system_messages_are_joined() -> None:
    got = parse_input(
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Be kind."}]},
        USER_MESSAGE,
    )
    assert (got.system, got.question, got.history) == ("Be brief.\n\nBe kind.", user_message("Why?"), ())


def test_history_keeps_order_and_attributes_answers_by_name() -> None:
    got = parse_input(
        {"role": "user", "content": "One?", "name": "Ada"},
        {"role": "assistant", "content": "First."},
        {"role": "user", "content": "Two?"},
        {"role": "assistant", "content": "Second.", "name": "Beta"},
        {**USER_MESSAGE, "name": "Ada"},
    )
    assert [(m.role, m.content, m.participant, m.name, m.run) for m in got.history] == [
        ("user", "Ada: One?", None, None, "earlier/1"),
        ("assistant", "First.", None, None, "earlier/1"),
        ("user", "Two?", None, None, "earlier/2"),
        ("assistant", "Second.", "beta", "Beta", "earlier/2"),
    ]
    assert [m.seq for m in got.history] == [1, 2, 3, 4]
    assert got.question_text == "Ada: Why?"


def test_history_answers_belong_to_only_participant() -> None:
    got = parse_input(USER_MESSAGE, {"role": "assistant", "content": "So."}, USER_MESSAGE, participant_count=1)
    assert got.history[1].participant == "alpha"


def test_files_are_decoded_from_data_urls() -> None:
    content = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": IMAGE_URL}},
        {"type": "file", "file": {"filename": "a/notes.txt", "file_data": "data:text/plain,one%20two"}},
    ]
    got = parse_input(
        {"role": "user", "content": content},
        {"role": "assistant", "content": "A cat."},
        {"role": "user", "content": content[:2]},
    )
    assert [(file.name, file.media_type, file.data) for file in got.all_files] == [
        ("image", "image/png", PNG),
        ("notes.txt", "text/plain", b"one two"),
        ("image", "image/png", PNG),
    ]
    assert [len(attachments) for attachments in got.history_attachments.values()] == [2]
    assert len(got.question.parts) == 2


def test_message_with_only_file_gets_default_text() -> None:
    assert (
        parse_input({"role": "user", "content": [{"type": "image_url", "image_url": {"url": IMAGE_URL}}]}).question_text
        == FILES_ONLY_TEXT
    )


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([{"role": "assistant", "content": "So."}], "must be of the role user"),
        ([{"role": "system", "content": "Be."}], "must be of the role user"),
        ([{"role": "user", "content": " "}], r"messages\[0\].content: it is empty"),
        (
            [{"role": "tool", "content": "4"}, USER_MESSAGE],
            r"messages\[0\].role: tools of the client are not supported",
        ),
        ([{"role": "assistant", "tool_calls": [{}]}, USER_MESSAGE], "tools of the client are not supported"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "audio is not supported"),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "https://x.example/a.png"}}],
                }
            ],
            r"messages\[0\].content\[0\].image_url.url: it is not a data URL",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,%%"}}],
                }
            ],
            "not base64",
        ),
        ([{"role": "user", "content": [{"type": "file", "file": {"file_id": "f"}}]}], "file_data"),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "data:a/b;base64,AAAA"}}],
                }
            ],
            "no text in UTF-8",
        ),
        (
            [
                {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": IMAGE_URL}}]},
                USER_MESSAGE,
            ],
            "only a message of the role user",
        ),
    ],
)
def test_unsupported_messages_are_rejected(messages: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_input(*messages)


@pytest.mark.parametrize(
    "more",
    [
        {"n": 2},
        {"logprobs": True},
        {"top_logprobs": 3},
        {"logit_bias": {"5": 1}},
        {"stop": ["."]},
        {"tools": [{"type": "function"}]},
        {"tool_choice": "required"},
        {"functions": [{}]},
        {"function_call": {"name": "x"}},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["text", "audio"]},
        {"audio": {"voice": "x"}},
        {"web_search_options": {}},
        {"discussion": "dis_1", "temperature": 0.5},
    ],
)
def test_unsupported_fields_are_rejected_by_name(more: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"^{list(more)[-1]}: "):
        reject_unsupported_fields(completion_request(**more))


@pytest.mark.parametrize(
    "more",
    [
        {"n": 1, "logprobs": False, "tools": [], "tool_choice": "auto", "response_format": {"type": "text"}},
        {
            "top_p": 0.5,
            "seed": 1,
            "user": "ada",
            "store": True,
            "service_tier": "auto",
            "presence_penalty": 1,
        },
        {"n": None, "stop": None, "tools": None, "metadata": {"discussion": "dis_1"}},
    ],
)
def test_neutral_and_ignored_fields_are_accepted(more: dict[str, Any]) -> None:
    reject_unsupported_fields(completion_request(**more))


def test_request_settings_apply_to_participants_only_when_given() -> None:
    who = Participant("alpha", "Alpha", "x/y", temperature=1.0, max_tokens=9, thinking="low")
    assert apply_settings(completion_request(), who) == who
    changed = apply_settings(completion_request(temperature=0, max_completion_tokens=5, reasoning_effort="xhigh"), who)
    assert (changed.temperature, changed.max_tokens, changed.thinking) == (0, 5, "high")
