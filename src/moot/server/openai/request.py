"""Parses an OpenAI chat completion request into instructions, message history and a question.

Pure. A field that would change the answer but is not supported raises `UsageError`; it is never ignored.
"""

import base64
import binascii
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import assert_never
from urllib.parse import unquote_to_bytes

from msgspec import Struct
from msgspec.structs import replace

from moot.prompts.attachments import build_question, inline_text_file, validate_media_type
from moot.prompts.parts import Attachment
from moot.server.openai.schemas import (
    AudioPart,
    ChatMessage,
    ChatMessagePart,
    CompletionRequest,
    FilePart,
    ImagePart,
    RefusalPart,
    TextPart,
)
from moot.types.discussions import Message
from moot.types.errors import UsageError
from moot.types.files import sanitize_file_name
from moot.types.participants import Participant, participant_id
from moot.types.primitives import new_id
from moot.types.requests import Effort, File, ModelMessage

# Unsupported fields, with the values that have no effect and are accepted. null is always accepted.
NEUTRAL_VALUES: Mapping[str, Collection[object]] = {
    "n": (1,),
    "logprobs": (False,),
    "top_logprobs": (0,),
    "logit_bias": ({},),
    "stop": ([], ""),
    "tools": ([],),
    "tool_choice": ("none", "auto"),
    "functions": ([],),
    "function_call": ("none", "auto"),
    "response_format": ({"type": "text"},),
    "modalities": (["text"],),
    "audio": (),
    "web_search_options": (),
}
# Rejected with a discussion, which has its own settings.
DISCUSSION_SETTINGS = ("temperature", "max_tokens", "max_completion_tokens", "reasoning_effort")
FILES_ONLY_TEXT = "See what is attached."
EFFORTS: Mapping[str | None, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high"}


class CompletionInput(Struct, frozen=True, kw_only=True):
    system: str  # all system and developer messages
    question_text: str
    question_files: tuple[File, ...]
    history: tuple[Message, ...]  # messages before the question
    history_attachments: dict[str, tuple[Attachment, ...]]  # by message id
    all_files: tuple[File, ...]  # of the history and the question

    @property
    def question(self) -> ModelMessage:
        return build_question(self.question_text, files=self.question_files)


def reject_unsupported_fields(request: CompletionRequest) -> None:
    """Raises `UsageError` for unsupported fields, and for settings that a discussion already has."""
    for field, neutral in NEUTRAL_VALUES.items():
        value = getattr(request, field)
        if value is not None and value not in neutral:
            raise UsageError(f"{field}: Moot does not support this. Leave it out.")
    if request.discussion_id is not None:
        for field in DISCUSSION_SETTINGS:
            if getattr(request, field) is not None:
                raise UsageError(f"{field}: the discussion has its own settings. Leave it out.")


def parse_messages(request: CompletionRequest, participants: Sequence[Participant]) -> CompletionInput:
    """Split the messages into history and question. The last message must have the role user."""
    messages = list(enumerate(request.messages))
    instructions = [_message_text(one, index) for index, one in messages if one.role in {"system", "developer"}]
    conversation = [(index, one) for index, one in messages if one.role not in {"system", "developer"}]
    if not conversation or conversation[-1][1].role != "user":
        raise UsageError("messages: the last one must be of the role user. It is the question.")
    (last_index, last), before = conversation[-1], conversation[:-1]
    history: list[Message] = []
    attachments: dict[str, tuple[Attachment, ...]] = {}
    history_files: list[File] = []
    turn = 0
    for index, one in before:
        turn += one.role == "user"
        message = _history_message(one, _message_text(one, index), len(history) + 1, turn, participants)
        history.append(message)
        if files := list(_message_files(one, index)):
            attachments[message.id] = tuple(Attachment(inline_text_file(file), name=file.name) for file in files)
            history_files += files
    question_files = tuple(_message_files(last, last_index))
    text = _message_text(last, last_index)
    if not text.strip() and not question_files:
        raise UsageError(f"messages[{last_index}].content: it is empty: write something.")
    return CompletionInput(
        system="\n\n".join(filter(None, instructions)),
        question_text=_user_text(last, text),
        question_files=question_files,
        history=tuple(history),
        history_attachments=attachments,
        all_files=(*history_files, *question_files),
    )


def apply_settings(request: CompletionRequest, participant: Participant) -> Participant:
    """Settings of the request override those of the participant; a missing or unknown one changes nothing."""
    limit = request.max_completion_tokens or request.max_tokens
    return replace(
        participant,
        temperature=participant.temperature if request.temperature is None else request.temperature,
        max_tokens=limit or participant.max_tokens,
        thinking=EFFORTS.get(request.reasoning_effort, participant.thinking),
    )


def _history_message(
    one: ChatMessage, words: str, number: int, turn: int, participants: Sequence[Participant]
) -> Message:
    is_user = one.role == "user"
    author = None if is_user else _find_author(one, participants)
    return Message(
        id=new_id("msg"),
        discussion="",
        run=f"earlier/{turn}",
        role="user" if is_user else "assistant",
        content=_user_text(one, words) if is_user else words,
        seq=number,
        participant=author.id if author else None,
        name=None if is_user else author.name if author else one.name,
        stage=None if is_user else "answer",
        created_at=time.time(),
    )


def _find_author(one: ChatMessage, participants: Sequence[Participant]) -> Participant | None:
    """Return the participant that the message names; without a name, the only participant."""
    if one.name is not None:
        known = {participant.id: participant for participant in participants}
        return known.get(participant_id(one.name))
    return participants[0] if len(participants) == 1 else None


def _user_text(one: ChatMessage, words: str) -> str:
    words = words if words.strip() else FILES_ONLY_TEXT
    return f"{one.name}: {words}" if one.name else words


def _message_text(one: ChatMessage, index: int) -> str:
    if one.role in {"tool", "function"} or one.tool_calls or one.function_call:
        raise UsageError(f"messages[{index}].role: tools of the client are not supported. Leave such messages out.")
    if isinstance(one.content, str):
        return one.content
    return "\n\n".join(_part_text(part) for part in one.content or () if isinstance(part, TextPart | RefusalPart))


def _part_text(part: TextPart | RefusalPart) -> str:
    return part.text if isinstance(part, TextPart) else part.refusal


def _message_files(one: ChatMessage, index: int) -> Iterator[File]:
    for part_index, part in enumerate(one.content if isinstance(one.content, tuple) else ()):
        field = f"messages[{index}].content[{part_index}]"
        if (file := _part_file(part, field)) is not None:
            if one.role != "user":
                raise UsageError(f"{field}: only a message of the role user can have files.")
            yield file


def _part_file(part: ChatMessagePart, field: str) -> File | None:
    match part:
        case TextPart() | RefusalPart():
            return None
        case ImagePart():
            return _decode_data_url(part.image_url.url, "image", f"{field}.image_url.url")
        case FilePart():
            if part.file.file_data is None:
                raise UsageError(
                    f"{field}.file.file_data: it is missing. Send the file as a data URL; file ids are not supported."
                )
            return _decode_data_url(part.file.file_data, part.file.filename or "file", f"{field}.file.file_data")
        case AudioPart():
            raise UsageError(f"{field}: audio is not supported. Send text, images or PDF.")
    assert_never(part)


def _decode_data_url(url: str, name: str, field: str) -> File:
    """Decode a data URL. Other URLs are rejected: fetching them would allow SSRF into the server's network."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UsageError(f"{field}: it is not a data URL. Send one such as data:image/png;base64,…")
    try:
        data = base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{field}: it is not base64.") from error
    return File(sanitize_file_name(name), validate_media_type(data, f"{field}: it"), data)
