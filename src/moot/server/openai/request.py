"""From what an OpenAI client sends to what is put to a table: instructions, what was said before, and the question.

Pure. What cannot be done is refused in words, and never left out silently where the answer would be another one.
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
from moot.types.requests import Effort, File
from moot.types.requests import ModelMessage as Told

# What each of these may be without asking for anything; null is nothing everywhere.
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
DISCUSSION_SETTINGS = (
    "temperature",
    "max_tokens",
    "max_completion_tokens",
    "reasoning_effort",
)  # a discussion has its own
FILES_ONLY_TEXT = "See what is attached."
EFFORTS: Mapping[str | None, Effort] = {"low": "low", "medium": "medium", "high": "high", "xhigh": "high"}


class CompletionInput(Struct, frozen=True, kw_only=True):
    """`earlier` is what was said before the question; `attached` came with that, by message, and `files` with all of it."""

    system: str
    question_text: str
    question_files: tuple[File, ...]
    history: tuple[Message, ...]
    history_attachments: dict[str, tuple[Attachment, ...]]
    all_files: tuple[File, ...]

    @property
    def question(self) -> Told:
        return build_question(self.question_text, files=self.question_files)


def reject_unsupported_fields(request: CompletionRequest) -> None:
    """Refuse what no table can do, and what a discussion decides for itself."""
    for field, nothing in NEUTRAL_VALUES.items():
        value = getattr(request, field)
        if value is not None and value not in nothing:
            raise UsageError(f"{field}: a table cannot do that: leave it out.")
    if request.discussion_id is not None:
        for field in DISCUSSION_SETTINGS:
            if getattr(request, field) is not None:
                raise UsageError(f"{field}: a discussion has its own settings: leave it out.")


def parse_messages(request: CompletionRequest, participants: Sequence[Participant]) -> CompletionInput:
    """Part the question from what was said before it. Answers are those of whom they name, or of the table."""
    said = list(enumerate(request.messages))
    instructions = [_message_text(one, place) for place, one in said if one.role in {"system", "developer"}]
    spoken = [(place, one) for place, one in said if one.role not in {"system", "developer"}]
    if not spoken or spoken[-1][1].role != "user":
        raise UsageError("messages: the last one must be of the role user: that is what is answered.")
    (at, last), before = spoken[-1], spoken[:-1]
    earlier: list[Message] = []
    attached: dict[str, tuple[Attachment, ...]] = {}
    files: list[File] = []
    turn = 0
    for place, one in before:
        turn += one.role == "user"
        message = _history_message(one, _message_text(one, place), len(earlier) + 1, turn, participants)
        earlier.append(message)
        if came := list(_message_files(one, place)):
            attached[message.id] = tuple(Attachment(inline_text_file(file), name=file.name) for file in came)
            files += came
    now = tuple(_message_files(last, at))
    words = _message_text(last, at)
    if not words.strip() and not now:
        raise UsageError(f"messages[{at}].content: it is empty: write something.")
    return CompletionInput(
        system="\n\n".join(filter(None, instructions)),
        question_text=_user_text(last, words),
        question_files=now,
        history=tuple(earlier),
        history_attachments=attached,
        all_files=(*files, *now),
    )


def apply_request_settings(request: CompletionRequest, participant: Participant) -> Participant:
    """Let a participant be asked as the request says."""
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
    person = one.role == "user"
    speaker = None if person else _find_author(one, participants)
    return Message(
        id=new_id("msg"),
        discussion="",
        run=f"earlier/{turn}",
        role="user" if person else "assistant",
        content=_user_text(one, words) if person else words,
        number=number,
        participant=speaker.id if speaker else None,
        name=None if person else speaker.name if speaker else one.name,
        stage=None if person else "answer",
        created_at=time.time(),
    )


def _find_author(one: ChatMessage, participants: Sequence[Participant]) -> Participant | None:
    """Find who gave an answer: whoever it names, or the only one who could."""
    if one.name is not None:
        known = {who.id: who for who in participants}
        return known.get(participant_id(one.name))
    return participants[0] if len(participants) == 1 else None


def _user_text(one: ChatMessage, words: str) -> str:
    words = words if words.strip() else FILES_ONLY_TEXT
    return f"{one.name}: {words}" if one.name else words


def _message_text(one: ChatMessage, index: int) -> str:
    if one.role in {"tool", "function"} or one.tool_calls or one.function_call:
        raise UsageError(f"messages[{index}].role: a table calls no tools of yours: leave such messages out.")
    if isinstance(one.content, str):
        return one.content
    return "\n\n".join(
        _part_text(part) for part in one.content or () if isinstance(part, TextPart | RefusalPart)
    )


def _part_text(part: TextPart | RefusalPart) -> str:
    return part.text if isinstance(part, TextPart) else part.refusal


def _message_files(one: ChatMessage, index: int) -> Iterator[File]:
    for at, part in enumerate(one.content if isinstance(one.content, tuple) else ()):
        field = f"messages[{index}].content[{at}]"
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
                    f"{field}.file.file_data: send the file itself, as a data URL: none is kept here."
                )
            return _decode_data_url(
                part.file.file_data, part.file.filename or "file", f"{field}.file.file_data"
            )
        case AudioPart():
            raise UsageError(f"{field}: a table cannot listen: send text, images or PDF.")
    assert_never(part)


def _decode_data_url(url: str, name: str, field: str) -> File:
    """Read a data URL. Nothing is fetched from elsewhere: who asks could make us look where they cannot."""
    head, comma, body = url.partition(",")
    if not comma or not head.startswith("data:"):
        raise UsageError(
            f"{field}: send it as a data URL, such as data:image/png;base64,…: nothing is fetched."
        )
    try:
        data = base64.b64decode(body, validate=True) if head.endswith(";base64") else unquote_to_bytes(body)
    except (binascii.Error, ValueError) as error:
        raise UsageError(f"{field}: it is not base64.") from error
    return File(sanitize_file_name(name), validate_media_type(data, f"{field}: it"), data)
